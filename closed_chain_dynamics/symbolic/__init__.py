"""
Equations instead of numbers: of models as linked lists, and of mechanisms with loops.

Importing this folder loads SymPy; nothing else in the package does.
"""

from closed_chain_dynamics.errors import ClosedChainError

try:
    import sympy    # noqa: F401
except ImportError:
    raise ClosedChainError('equations need SymPy, which is not installed',
                           repair='Install it: pip install sympy.') from None

from .cost import cost_table
from .elimination import derive
from .equations import Equations
from .lagrange import estimate, lagrange
from .list_dynamics import Dynamics
from .list_files import parse_lists, read_lists, shipped_lists
from .list_kinematics import Kinematics, kinematics
from .lists import (Force, Joint, LinearSpring, Lists, Point, ReferenceSystem, Segment,
                    TorsionalSpring, Torque)
from .reduced_equations import ReducedEquations
from .size import size_estimate

__all__ = [
    'Dynamics', 'Equations', 'Force', 'Joint', 'Kinematics', 'LinearSpring', 'Lists', 'Point',
    'ReducedEquations', 'ReferenceSystem', 'Segment', 'TorsionalSpring', 'Torque', 'cost_table',
    'derive', 'estimate', 'kinematics', 'lagrange', 'parse_lists', 'read_lists', 'shipped_lists',
    'size_estimate',
]
