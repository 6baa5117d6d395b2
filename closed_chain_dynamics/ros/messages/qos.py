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

"""Quality of service, as ROS users expect it of each kind of topic."""

from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

__all__ = ['COMMAND', 'EVENTS', 'LATCHED', 'LATEST', 'PUBLISHED_STATE', 'STREAM', 'TF']


def _profile(
    depth: int,
    reliability: ReliabilityPolicy = ReliabilityPolicy.RELIABLE,
    durability: DurabilityPolicy = DurabilityPolicy.VOLATILE,
) -> QoSProfile:
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST,
        depth=depth,
        reliability=reliability,
        durability=durability,
    )


# Measured states and torques are read best effort, the newest only: an old one is worth nothing.
LATEST = _profile(1, ReliabilityPolicy.BEST_EFFORT)
STREAM = _profile(10, ReliabilityPolicy.BEST_EFFORT)
# What is published reliably is heard by readers of either kind.
PUBLISHED_STATE = _profile(10)
COMMAND = _profile(10)
LATCHED = _profile(1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
TF = _profile(100)
EVENTS = _profile(100)  # many may happen in one period, and each is wanted
