# Copyright 2026 the authors of closed_chain_dynamics
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Where ROS 2 security is asked for, no node runs without it."""

from helpers.ros_helpers import ros  # skips this file where there is no rclpy

__all__ = ['ros']  # a fixture: pytest finds it by its name here

FILES = ('identity_ca.cert.pem', 'cert.pem', 'key.pem', 'permissions_ca.cert.pem')
FILES += ('governance.p7s', 'permissions.p7s')


def test_a_node_without_a_valid_key_does_not_start(ros, tmp_path):
    """Be it that its key is none, or that the middleware was built without security."""
    (tmp_path / 'enclaves').mkdir()
    for name in FILES:
        (tmp_path / 'enclaves' / name).write_text('no key')
    ros.environment.update(
        ROS_SECURITY_ENABLE='true',
        ROS_SECURITY_STRATEGY='Enforce',
        ROS_SECURITY_KEYSTORE=str(tmp_path),
    )
    process = ros.start('contact_node')
    assert process.wait() != 0
    assert 'security' in process.output().lower(), process.output()
