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

"""Code that a process beside a simulation makes for a structure that has just come about."""

import time

PATIENCE = 600.0  # for a compiler on a busy machine [s]


def await_code(sim):
    """
    Wait until the code that is being made for a simulation has been made.

    The simulation stands still meanwhile: two of them drift apart by rounding, and how long they
    would run must not depend on how busy the machine is.
    """
    end = time.monotonic() + PATIENCE
    while not sim.generated._build.is_done():
        assert time.monotonic() < end, 'no code has come'
        time.sleep(0.05)
