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
Equations instead of numbers: of models as linked lists, and of mechanisms with loops.

CasADi differentiates and finds common subexpressions, SymPy writes what people read. Importing
this room loads both; nothing else in the package loads SymPy. It may import `simulation` and the
rooms below it, of which it uses `codegen`.
"""

from closed_chain_dynamics.errors import ClosedChainError

try:
    import casadi  # noqa: F401
    import sympy  # noqa: F401
except ImportError as error:
    raise ClosedChainError(
        f'equations need SymPy and CasADi, and {error.name} is not installed',
        repair='Install them: pip install sympy casadi.',
    ) from None

from closed_chain_dynamics.symbolic.cost import cost_table
from closed_chain_dynamics.symbolic.elimination import derive
from closed_chain_dynamics.symbolic.equations import Equations
from closed_chain_dynamics.symbolic.lagrange_equations import estimate, lagrange
from closed_chain_dynamics.symbolic.list_dynamics import ListDynamics
from closed_chain_dynamics.symbolic.list_elements import (
    Force,
    LinearSpring,
    ListJoint,
    Point,
    ReferenceSystem,
    Segment,
    Torque,
    TorsionalSpring,
)
from closed_chain_dynamics.symbolic.list_files import parse_lists, read_lists, shipped_lists
from closed_chain_dynamics.symbolic.list_kinematics import Kinematics, kinematics
from closed_chain_dynamics.symbolic.lists import Lists
from closed_chain_dynamics.symbolic.reduced_equations import ReducedEquations
from closed_chain_dynamics.symbolic.size import size_estimate

__all__ = [
    'Equations',
    'Force',
    'Kinematics',
    'LinearSpring',
    'ListDynamics',
    'ListJoint',
    'Lists',
    'Point',
    'ReducedEquations',
    'ReferenceSystem',
    'Segment',
    'Torque',
    'TorsionalSpring',
    'cost_table',
    'derive',
    'estimate',
    'kinematics',
    'lagrange',
    'parse_lists',
    'read_lists',
    'shipped_lists',
    'size_estimate',
]
