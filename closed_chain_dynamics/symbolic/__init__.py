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
from closed_chain_dynamics.symbolic.lagrange import estimate, lagrange
from closed_chain_dynamics.symbolic.list_dynamics import Dynamics
from closed_chain_dynamics.symbolic.list_files import parse_lists, read_lists, shipped_lists
from closed_chain_dynamics.symbolic.list_kinematics import Kinematics, kinematics
from closed_chain_dynamics.symbolic.lists import (
    Force,
    Joint,
    LinearSpring,
    Lists,
    Point,
    ReferenceSystem,
    Segment,
    Torque,
    TorsionalSpring,
)
from closed_chain_dynamics.symbolic.reduced_equations import ReducedEquations
from closed_chain_dynamics.symbolic.size import size_estimate

__all__ = [
    'Dynamics',
    'Equations',
    'Force',
    'Joint',
    'Kinematics',
    'LinearSpring',
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
