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

"""Processes that end with the one that started them, also where that one is killed; no ROS."""

import ctypes
import os
import signal
import sys

__all__ = ['PARENT', 'end_with_parent']

PARENT = 'CLOSED_CHAIN_PARENT'  # environment variable: the process to end with
PR_SET_PDEATHSIG = 1  # of Linux, see prctl(2)


def end_with_parent() -> None:
    """Have SIGTERM sent to this process when its parent is gone, if it has to end with it."""
    parent = os.environ.get(PARENT, '')
    if not parent.isdigit() or sys.platform != 'linux':
        return
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGTERM))
    if os.getppid() != int(parent):  # it was gone before the line above
        os.kill(os.getpid(), signal.SIGTERM)
