"""
Dynamics of closed kinematic chains whose structure changes while they move.

Layers, from the file to the answer: `description` reads files into frozen dataclasses;
`packing` and `mechanism` turn them into flat arrays; `kernels` is the compiled code on these
arrays; `tree_dynamics` is the dynamics of the tree after the virtual cut. On it stand
`coordinates` (rank, theta_G, H, W, S), `assembly` (closed poses and motions), `inverse_dynamics`,
`actuation`, `forward_dynamics`, `reactions` and `impact`; `simulation` and `contact` move it in
time, `recording` keeps what happened, `control` gives torques for a reference, `motion` those of a
given motion. Outer layers, which nothing here imports: `studies`, `symbolic`, `viewer`,
`ros`, `commands`.
"""

from .actuation import actuator_torques
from .assembly.completion import complete_acceleration, complete_velocity
from .assembly.search import assemble, Assembled, find_assembly
from .contact import contact_forces, contact_wrenches
from .coordinates import (Coordinates, constraint_jacobian, coordinates, loop_jacobian,
                          loop_positions)
from .description import Description
from .errors import (ActuationError, AssemblyError, ClosedChainError, DescriptionError,
                     NameNotFound, SingularityError, StateError, StructureError)
from .forward_dynamics import ForwardDynamics, forward_dynamics
from .impact import Impact, impact
from .inverse_dynamics import InverseDynamics, inverse_dynamics
from .mechanism import Mechanism, load
from .reactions import Reaction, Reactions, reactions
from .simulation import Simulation
from .tree_dynamics import (center_of_mass, difference, energy, integrate, jacobian,
                            jacobian_bias, joint_wrenches, link_accelerations, link_placement,
                            link_placements, link_velocities, mass_matrix, momentum, newton_euler)
from .warming import warm_up

__version__ = '0.1.0'

__all__ = [
    'ActuationError', 'Assembled', 'AssemblyError', 'ClosedChainError', 'Coordinates',
    'Description', 'DescriptionError', 'ForwardDynamics', 'Impact', 'InverseDynamics',
    'Mechanism', 'NameNotFound', 'Reaction', 'Reactions', 'Simulation', 'SingularityError',
    'StateError', 'StructureError', 'actuator_torques', 'assemble', 'center_of_mass',
    'complete_acceleration', 'complete_velocity', 'constraint_jacobian', 'contact_forces',
    'contact_wrenches', 'coordinates', 'difference', 'energy', 'find_assembly',
    'forward_dynamics', 'impact', 'integrate', 'inverse_dynamics', 'jacobian', 'jacobian_bias',
    'joint_wrenches', 'link_accelerations', 'link_placement', 'link_placements',
    'link_velocities', 'load', 'loop_jacobian', 'loop_positions', 'mass_matrix', 'momentum',
    'newton_euler', 'reactions', 'warm_up',
]
