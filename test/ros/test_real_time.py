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

"""Priority, locked memory and cores: had where permitted, refused in words where not."""

import json
import os
import subprocess
import sys

import pytest

from closed_chain_dynamics.ros.real_time import ask_for_real_time

NOBODY = 65534
ASK = """
import json, os, resource, sys
from closed_chain_dynamics.ros.real_time import ask_for_real_time
if {drop}:
    resource.setrlimit(resource.RLIMIT_RTPRIO, (0, 0))
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0))
    if os.getuid() == 0:
        os.setgid({nobody}), os.setuid({nobody})
refused = ask_for_real_time(**{options})
locked = next(l for l in open('/proc/self/status') if l.startswith('VmLck')).split()[1]
print(json.dumps([refused, sorted(os.sched_getaffinity(0)), os.sched_getscheduler(0), locked]))
"""


def ask(drop, **options):
    """Ask in a process of its own, with permissions dropped or not; return what came of it."""
    text = ASK.format(drop=drop, nobody=NOBODY, options=options)
    done = subprocess.run([sys.executable, '-c', text], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_cores_are_those_asked_for():
    """The last one that this process may use, alone."""
    last = max(os.sched_getaffinity(0))
    refused, cores, policy, _ = ask(False, cores=[last])
    assert (refused, cores, policy) == ([], [last], os.SCHED_OTHER)


def test_a_core_that_is_not_there_is_said_though_others_are():
    """Linux takes those that are, without a word about the rest."""
    last = max(os.sched_getaffinity(0))
    refused, cores, _, _ = ask(False, cores=[last, 999])
    assert len(refused) == 1 and 'cores 999 are not to be had' in refused[0]
    assert cores == [last]


def test_what_is_not_permitted_is_said_and_left_alone():
    """As nobody, without limits: each refusal names what to raise."""
    before = sorted(os.sched_getaffinity(0))
    refused, cores, policy, locked = ask(True, priority=50, lock_memory=True, cores=[9999])
    assert len(refused) == 3
    assert all(word in text for word, text in zip(('9999', 'memlock', 'rtprio'), refused))
    assert (cores, policy, locked) == (before, os.SCHED_OTHER, '0')


def test_what_is_permitted_is_had():
    """Where this user may: locked memory and the scheduler say so themselves."""
    refused, _, policy, locked = ask(False, priority=1, lock_memory=True)
    if not refused:
        assert policy == os.SCHED_FIFO and int(locked) > 0
    else:
        pytest.skip(f'not here: {refused[0]}')


def test_nothing_asked_changes_nothing():
    """No call at all."""
    assert ask_for_real_time() == []
