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
What a process may ask of Linux to be on time: priority, memory that stays, cores of its own.

Each needs a permission that users seldom have. What is refused is said in words, with the way to
get it, and the node goes on without.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
import ctypes
import os

__all__ = ['ask_for_real_time']

MCL_CURRENT, MCL_FUTURE = 1, 2  # of mlockall, <sys/mman.h>


def ask_for_real_time(
    *, priority: int = 0, lock_memory: bool = False, cores: Sequence[int] = ()
) -> list[str]:
    """
    Let this process run as asked; return what is not permitted, in words.

    `priority`: of SCHED_FIFO, 1 to 99, 0: as it is; `cores`: numbers of those to run on.
    """
    refused = []
    if cores:
        with suppress(OSError, ValueError):  # none of them is there, or one is below zero
            os.sched_setaffinity(0, cores)
        had = os.sched_getaffinity(0)
        missing = sorted({*cores} - had)  # Linux takes those that are there without a word
        if missing:
            refused.append(
                f'cores {_listed(missing)} are not to be had: this process runs on {_listed(had)}'
            )
    if lock_memory and ctypes.CDLL(None, use_errno=True).mlockall(MCL_CURRENT | MCL_FUTURE):
        why = os.strerror(ctypes.get_errno())
        refused.append(
            f'memory cannot be locked ({why}): raise memlock in /etc/security/limits.conf, or '
            'give CAP_IPC_LOCK'
        )
    if priority:
        try:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
        except OSError as error:
            refused.append(
                f'real-time priority {priority} is not permitted ({error.strerror}): raise rtprio '
                'in /etc/security/limits.conf, or give CAP_SYS_NICE'
            )
    return refused


def _listed(cores: Iterable[int]) -> str:
    return ', '.join(map(str, sorted(cores)))
