"""
Dynamics of closed kinematic chains whose structure changes while they move.

The rooms, each of which imports only those before it: `errors`; `description` reads files into
frozen dataclasses; `kernels` is the compiled code on flat arrays; `model` lays a description out
for it and connects and cuts; `dynamics` is the mathematics of one state: the tree after the
virtual cut, rank, theta_G, H, W and S, torques, accelerations, reactions, impacts; `assembly`
closes loops; `recording` keeps what happened; `simulation` makes it happen; `symbolic` writes
equations; `control` gives torques for a reference; `studies` asks what takes many computations;
`viewer` shows, `ros` carries messages, and `cli` is the command line.
"""

import closed_chain_dynamics.starting  # noqa: F401 (before the imports that take their time)

# isort: split
from closed_chain_dynamics.assembly.completion import complete_acceleration, complete_velocity
from closed_chain_dynamics.assembly.search import Assembled, assemble, find_assembly
from closed_chain_dynamics.description import Description
from closed_chain_dynamics.dynamics.actuation import actuator_torques
from closed_chain_dynamics.dynamics.contact_forces import contact_forces, contact_wrenches
from closed_chain_dynamics.dynamics.coordinates import (
    Coordinates,
    constraint_jacobian,
    coordinates,
    loop_jacobian,
    loop_positions,
)
from closed_chain_dynamics.dynamics.forward import ForwardDynamics, forward_dynamics
from closed_chain_dynamics.dynamics.impact import Impact, impact
from closed_chain_dynamics.dynamics.inverse import InverseDynamics, inverse_dynamics
from closed_chain_dynamics.dynamics.reactions import Reaction, Reactions, reactions
from closed_chain_dynamics.dynamics.tree import (
    center_of_mass,
    difference,
    energy,
    integrate,
    jacobian,
    jacobian_bias,
    joint_wrenches,
    link_accelerations,
    link_placement,
    link_placements,
    link_velocities,
    mass_matrix,
    momentum,
    newton_euler,
)
from closed_chain_dynamics.errors import (
    ActuationError,
    AssemblyError,
    ClosedChainError,
    DescriptionError,
    NameNotFound,
    SingularityError,
    StateError,
    StructureError,
)
from closed_chain_dynamics.model.mechanism import Mechanism, load
from closed_chain_dynamics.simulation.simulation import Simulation
from closed_chain_dynamics.warming import warm_up

__version__ = '0.1.0'

__all__ = [
    'ActuationError',
    'Assembled',
    'AssemblyError',
    'ClosedChainError',
    'Coordinates',
    'Description',
    'DescriptionError',
    'ForwardDynamics',
    'Impact',
    'InverseDynamics',
    'Mechanism',
    'NameNotFound',
    'Reaction',
    'Reactions',
    'Simulation',
    'SingularityError',
    'StateError',
    'StructureError',
    'actuator_torques',
    'assemble',
    'center_of_mass',
    'complete_acceleration',
    'complete_velocity',
    'constraint_jacobian',
    'contact_forces',
    'contact_wrenches',
    'coordinates',
    'difference',
    'energy',
    'find_assembly',
    'forward_dynamics',
    'impact',
    'integrate',
    'inverse_dynamics',
    'jacobian',
    'jacobian_bias',
    'joint_wrenches',
    'link_accelerations',
    'link_placement',
    'link_placements',
    'link_velocities',
    'load',
    'loop_jacobian',
    'loop_positions',
    'mass_matrix',
    'momentum',
    'newton_euler',
    'reactions',
    'warm_up',
]
