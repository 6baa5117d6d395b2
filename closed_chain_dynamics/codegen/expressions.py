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

"""What expressions are for the type checker, as CasADi carries no types, and what they cost."""

from typing import Any

__all__ = ['SX', 'Symbols', 'operations']

SX = Any  # casadi.SX
Symbols = dict[str, Any]  # the inputs of a function by name, as casadi.SX


def operations(function: Any) -> int:
    """Return how many operations a function takes, constants and copies not counted."""
    import casadi as ca

    silent = {ca.OP_CONST, ca.OP_INPUT, ca.OP_OUTPUT}
    return sum(function.instruction_id(k) not in silent for k in range(function.n_instructions()))
