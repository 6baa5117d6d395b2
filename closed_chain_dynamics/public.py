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

"""The public names, which `closed_chain_dynamics` hands on when the first is asked for."""

from closed_chain_dynamics import codegen
from closed_chain_dynamics.assembly.completion import complete_acceleration, complete_velocity
from closed_chain_dynamics.assembly.search import Assembled, assemble, find_assembly
from closed_chain_dynamics.codegen.compiled import CompiledMechanism
from closed_chain_dynamics.codegen.forward_derivatives import Derivatives, derivatives
from closed_chain_dynamics.description import Description
from closed_chain_dynamics.dynamics.actuation import actuator_torques
from closed_chain_dynamics.dynamics.constraints import (
    constraint_jacobian,
    loop_jacobian,
    loop_positions,
)
from closed_chain_dynamics.dynamics.contacts import contact_forces, contact_wrenches
from closed_chain_dynamics.dynamics.distances import (
    ClusterDistance,
    SingularityWatch,
    singularity_distances,
)
from closed_chain_dynamics.dynamics.forward import ForwardDynamics, forward_dynamics
from closed_chain_dynamics.dynamics.generalized_coordinates import Coordinates, coordinates
from closed_chain_dynamics.dynamics.impacts import Impact, impact
from closed_chain_dynamics.dynamics.inverse import InverseDynamics, inverse_dynamics
from closed_chain_dynamics.dynamics.joint_reactions import reactions
from closed_chain_dynamics.dynamics.reaction_values import Reaction, Reactions
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
    GenerationError,
    NameNotFound,
    SingularityError,
    StateError,
    StructureError,
)
from closed_chain_dynamics.model.mechanism import Mechanism, load
from closed_chain_dynamics.simulation.simulation import Simulation
from closed_chain_dynamics.warming import warm_up

__all__ = [
    'ActuationError',
    'Assembled',
    'AssemblyError',
    'ClosedChainError',
    'ClusterDistance',
    'CompiledMechanism',
    'Coordinates',
    'Derivatives',
    'Description',
    'DescriptionError',
    'ForwardDynamics',
    'GenerationError',
    'Impact',
    'InverseDynamics',
    'Mechanism',
    'NameNotFound',
    'Reaction',
    'Reactions',
    'Simulation',
    'SingularityError',
    'SingularityWatch',
    'StateError',
    'StructureError',
    'actuator_torques',
    'assemble',
    'center_of_mass',
    'codegen',
    'complete_acceleration',
    'complete_velocity',
    'constraint_jacobian',
    'contact_forces',
    'contact_wrenches',
    'coordinates',
    'derivatives',
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
    'singularity_distances',
    'warm_up',
]
