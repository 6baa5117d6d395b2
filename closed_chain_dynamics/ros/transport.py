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

"""
Which way messages take between processes: UDP, never shared memory, unless somebody decides.

Where a process is killed while it publishes through the shared memory of Fast DDS, the processes
that read from it may crash at their own end, or wait on a lock that nobody holds any more. The
profiles in config/ leave shared memory out. What the user has set up wins: a profile of their
own, another middleware, or CLOSED_CHAIN_SHARED_MEMORY=1. See docs/pages/reliability.md.
"""

from collections.abc import MutableMapping
import os
from pathlib import Path

from closed_chain_dynamics.model import library

__all__ = ['SHARED_MEMORY', 'use_safe_transport']

SHARED_MEMORY = 'CLOSED_CHAIN_SHARED_MEMORY'  # set to 1, nothing here is done
RANGE, PEERS = 'ROS_AUTOMATIC_DISCOVERY_RANGE', 'ROS_STATIC_PEERS'
# Fast DDS 3 reads the first, version 2 (up to ROS 2 Jazzy) the second.
PROFILES = ('FASTDDS_DEFAULT_PROFILES_FILE', 'FASTRTPS_DEFAULT_PROFILES_FILE')
IN_FOLDER = ('DEFAULT_FASTDDS_PROFILES.xml', 'DEFAULT_FASTRTPS_PROFILES.xml')


def use_safe_transport(
    environment: MutableMapping[str, str] = os.environ, *, default_range: str = 'SUBNET'
) -> Path | None:
    """
    Set a profile without shared memory, before rclpy is initialised; return it, None: not ours.

    `default_range`: how far nodes look for each other where the user has not said.
    """
    if not environment.get(RANGE):
        only_here = environment.get('ROS_LOCALHOST_ONLY') == '1'
        environment[RANGE] = 'LOCALHOST' if only_here else default_range
    if _is_decided(environment):
        return None
    near = environment[RANGE] == 'LOCALHOST'
    path = library.share_folder() / 'config' / f'fastdds_{"loopback" if near else "subnet"}.xml'
    if not path.is_file():
        return None
    if near:  # for LOCALHOST the ROS layer would add shared memory to whatever a profile says
        environment[RANGE] = 'SYSTEM_DEFAULT'
        environment.pop('ROS_LOCALHOST_ONLY', None)
    for name in PROFILES:
        environment[name] = str(path)
    return path


def _is_decided(environment: MutableMapping[str, str]) -> bool:
    """Return whether the user has chosen a transport, or one that a profile here would break."""
    return (
        environment.get(SHARED_MEMORY) == '1'
        or any(environment.get(name) for name in PROFILES)
        or 'fastrtps' not in environment.get('RMW_IMPLEMENTATION', 'rmw_fastrtps_cpp')
        or any(Path(name).is_file() for name in IN_FOLDER)
        # peers named one by one with LOCALHOST: only the ROS layer knows how to reach these alone
        or (environment[RANGE] == 'LOCALHOST' and bool(environment.get(PEERS)))
    )
