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
Bounds that generated code shares with the kernels are the same numbers.

They stand in both places, because what the code was generated from is what its cache looks at.
"""

import pytest

from closed_chain_dynamics.codegen import actuation, forward, passive
from closed_chain_dynamics.kernels import (
    closed_chain,
    inverse as inverse_kernel,
    kinematics,
    passive as passive_kernel,
)
from closed_chain_dynamics.model import packing

DOUBLE = 0  # of a pair by precision


@pytest.mark.parametrize(
    'generated, core',
    [
        (passive.FRICTION_SPEED, passive_kernel.FRICTION_SPEED),
        (passive.NO_LENGTH, passive_kernel.NO_LENGTH),
        (forward.INDEFINITE, closed_chain.INDEFINITE),
        (forward.UNIT_TOLERANCE, kinematics.UNIT_TOLERANCE),
        (forward.CLOSING_TOLERANCES[DOUBLE], packing.CLOSING_TOLERANCE),
        (actuation.NO_LEVERS[DOUBLE], inverse_kernel.NO_LEVER),
        (actuation.WEAK_LEVERS[DOUBLE], inverse_kernel.WEAK_LEVER),
    ],
)
def test_a_bound_of_generated_code_is_that_of_the_core(generated, core):
    assert generated == core
