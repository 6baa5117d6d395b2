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
What the kernels work on: tables of named records, and how a kernel gets at them.

A kernel takes one array `m`, the handle of a mechanism: for every table the address of its first
record and their number. `at.bodies(m)[3].mass`, with `at` this module as every kernel calls it,
then reads like any other language, costs nothing, and
a call from Python passes one small array however much a mechanism contains. Who owns the tables
and when they change is in `model/`: the model's never, the structure's at events, the workspace's
at every call.

Symbol        Meaning
n             bodies, the world included as body 0; links fixed to each other are one body
nv            velocities of the tree, the length of theta_O'
R, p, c       placement and centre of mass of a body in the world, shifted by `origin`
V, A          spatial velocity and acceleration (linear, angular) at the shifted world origin
F             spatial force that the joint passes on to the body, same point and axes
s             motion subspace of a degree of freedom, same point and axes
"""

import numpy as np

from .compiling import kernel
from .tables import REAL, WHOLE, matrices, record, table


def _record(integers='', **floats):
    """Return the dtype of a record: named integers, then named numbers, vectors and matrices."""
    return np.dtype(
        [(name, np.int64) for name in integers.split()]
        + [(name, np.float64, shape) for name, shape in floats.items()]
    )


# --- what a mechanism is: the model as described, and the structure as it is now ----------------
# `rounded`, whether redundant rows of loops contradict each other by the digits of a file
WORLD = _record('rounded', gravity=3, length=(), closing_tolerance=(), rank_tolerance=())
# `changes` counts all changes of the structure's tables, a new choice of theta_G included;
# `inner_rotors`, the rotors that turn with no joint of the tree: of loop joints and of tendons
SHAPE = _record(
    'changes nq nv n_clusters n_rows n_contacts n_holds rank full_rank mobility '
    'passive_joints passive_loops inner_rotors'
)
# a body and the joint that carries it: `R`, `p` place the joint in the parent body; `iq`, `iv` are
# its places in q and v; `carries` says whether another cluster hangs on it; inertia about the
# centre of mass (xx xy xz yy yz zz) in body axes; `ways`, the most in which its cluster has been
# seen to move it (see `singularity.py`); `lift`, the mass whose weight is carried from outside,
# and where
BODY = _record(
    'parent joint iq iv n_dof subtree_end cluster carries ways',
    R=(3, 3),
    p=3,
    mass=(),
    com=3,
    inertia=6,
    lift=(),
    lift_com=3,
)
# a coordinate of a tree or loop joint: the body moved; `parent`, the nearest degree of freedom
# towards the root (-1: none), `above`, the nearest one in the same cluster; `local`, its place
# within the cluster; `dependent`, 1 in theta_S; `preference` (2 actuated, 1 wanted independent, 0
# indifferent, -1 wanted dependent); `actuator` (-1: none); `slip`, how its friction acts, and in
# which `direction` it slides. Then its law: damping, friction, range, restitution of its stops,
# limit moment, reflected inertia of a rotor; `scale`, its unit (1 rad, or the typical length);
# `seen`, of a loop joint, where it was: from there whole turns are counted
DOF = _record(
    'body parent local dependent preference actuator above slip',
    damping=(),
    friction=(),
    lower=(),
    upper=(),
    stop_stiffness=(),
    stop_damping=(),
    stop_transition=(),
    armature=(),
    scale=(),
    restitution=(),
    direction=(),
    seen=(),
)
# a loop joint: frame 1 on the parent's body, frame 2 on the child's, z along its axis; `row` and
# `n_rows` in J_C, `dof` and `n_dofs` among the loop coordinates, `top` the common ancestor;
# `function`, the address of a surface given as one. For a contact: where it sticks and how it
# slides, both in frame 1; `ball`, the radius of a ball or `wheel` that touches in place of a
# point; `slow`, the speed below which its direction is the one noted for a whole step
LOOP = _record(
    'type body_1 body_2 active mode contact shape wheel function row n_rows cluster dof n_dofs '
    'top',
    R_1=(3, 3),
    p_1=3,
    R_2=(3, 3),
    p_2=3,
    anchor=3,
    direction=3,
    mu=(),
    mu_static=(),
    radius=(),
    ball=(),
    slow=(),
    restitution=(),
    stiffness=(),
    damping=(),
)
COUPLING = _record('first n_terms active row cluster', constant=())
TERM = _record('dof iq', coefficients=4)  # of x, x^2, x^3, x^4
# a coordinate that a stop or friction may hold: of a loop joint (`loop` -1: of the tree), `home`
# as described; `placed`, whether it has a position; what holds it now, where, and with which
# `force`; the range between its stops
HOLD = _record(
    'loop dof home iq placed active mode row cluster', position=(), lower=(), upper=(), force=()
)
# `body_1` is the loop for a spring on a loop joint; of a tendon the first of `body_2` terms, and
# its `dof` is -1 where a joint of it has been cut; of a path the first of `body_2` waypoints.
# Tendons and paths begin with `piece` among the pieces; with an armature they belong to a cluster
SPRING = _record(
    'type body_1 body_2 dof iq piece cluster',
    p_1=3,
    p_2=3,
    stiffness=(),
    damping=(),
    rest=(),
    slack=(),
    armature=(),
    rest_turn=4,
)
# where a path leads: through a point of a body, or around a shape; `side`, the body of a point on
# the side that it takes (-1: none); `begins`, where another branch does; `share` of its length
WAYPOINT = _record('body shape begins side', p=3, R=(3, 3), radius=(), side_p=3, share=())
ACTUATOR = _record('on_loop dof', effort=())  # dof -1: its joint has been cut
# joints tied together by loops: first place and number in the lists of degrees of freedom, bodies,
# loops and couplings; `parent`, the body outside that carries it; where its matrices begin in the
# scratch, and columns of its constraint matrix; `full_rank`, the largest rank of its rows seen in
# this structure, and `levers`, that of its actuators; whether theta_G has been `chosen`, and the
# size below which a pivot counted as zero then
CLUSTER = _record(
    'first_dof n_dofs first_body n_bodies first_loop n_loops first_coupling n_couplings '
    'parent n_rows rank full_rank levers scratch width chosen',
    tolerance=(),
)
# an external wrench on a point of a body, world axes at that point
LOAD = _record('body', p=3, wrench=6)

# --- what a computation writes ---------------------------------------------------------------
TOTALS = _record(origin=3, kinetic=(), potential=(), power=(), dissipation=())
MOVING = _record(R=(3, 3), p=3, c=3, V=6, A=6, F=6, dA=6)
# `rigid`: mass, first moment, second moment (xx xy xz yy yz zz); `I`: articulated
INERTIA = _record(rigid=10, I=(6, 6))
# articulated inertia times s; for a cluster of one coordinate the inverse of its inertia, and the
# force left for it
COLUMN = _record(s=6, U=6, D_inverse=(), rest=())
# where both frames of a loop are; for a contact the point that touches, its unit normal, the force
# along it, the friction force on the child, and the unit direction in which it slides
FRAME = _record(
    R_1=(3, 3), p_1=3, R_2=(3, 3), p_2=3, point=3, normal=3, normal_force=(), friction=3, sliding=3
)
ROW = _record(f=6, error=(), bias=())  # a row of J_C: covector, error, J_C' theta'
LOOP_COLUMN = _record(f=6, position=(), rate=())  # a coordinate of a loop joint
# a straight piece of a path, or a joint of a tendon: its covector; where it begins and ends, how
# long it is and which force along it pulls two bodies together
PIECE = _record('body_1 body_2', f=6, p_1=3, p_2=3, length=(), pull=())

# the tables of a handle, in its order
TABLES = {
    # of the model
    'home_bodies': BODY,
    'home_dofs': DOF,
    'home_couplings': COUPLING,
    'home_terms': TERM,
    'home_springs': SPRING,
    'home_actuators': ACTUATOR,
    'waypoints': WAYPOINT,
    # of the structure
    'world': WORLD,
    'shape': SHAPE,
    'bodies': BODY,
    'dofs': DOF,
    'loop_dofs': DOF,
    'holds': HOLD,
    'loops': LOOP,
    'couplings': COUPLING,
    'terms': TERM,
    'springs': SPRING,
    'actuators': ACTUATOR,
    'clusters': CLUSTER,
    'cluster_dofs': WHOLE,
    'cluster_bodies': WHOLE,
    'cluster_loops': WHOLE,
    'cluster_couplings': WHOLE,
    # of the workspace
    'totals': TOTALS,
    'moving': MOVING,
    'inertias': INERTIA,
    'columns': COLUMN,
    'frames': FRAME,
    'rows': ROW,
    'loop_columns': LOOP_COLUMN,
    'pieces': PIECE,
    'zeros': REAL,  # (nv,) of them
    'tau': REAL,  # (nv,) forces on the coordinates of the tree
    'drift': REAL,  # (nv,) W' theta_G'
    'torques': REAL,  # (actuators,) tau_A
    'extra': REAL,  # (nv,) or none: forces on the coordinates from outside
    'loads': LOAD,
    'scratch': REAL,
}
SLOTS = {name: 2 * k for k, name in enumerate(TABLES)}
PER_VELOCITY = ('dofs', 'columns', 'cluster_dofs', 'zeros', 'tau', 'drift')


def _accessor(name, whole=True):
    """Return what gives kernels a table of the handle, or the only record of it."""
    return table(SLOTS[name], TABLES[name]) if whole else record(SLOTS[name], TABLES[name])


world, shape, totals = (_accessor(name, whole=False) for name in ('world', 'shape', 'totals'))
home_bodies, home_dofs, home_couplings, home_terms, home_springs, home_actuators = (
    _accessor(f'home_{name}')
    for name in ('bodies', 'dofs', 'couplings', 'terms', 'springs', 'actuators')
)
bodies, dofs, loops, couplings, terms = (
    _accessor(name) for name in ('bodies', 'dofs', 'loops', 'couplings', 'terms')
)
springs, actuators, clusters, loop_dofs, holds = (
    _accessor(name) for name in ('springs', 'actuators', 'clusters', 'loop_dofs', 'holds')
)
cluster_dofs, cluster_bodies, cluster_loops, cluster_couplings = (
    _accessor(f'cluster_{name}') for name in ('dofs', 'bodies', 'loops', 'couplings')
)
moving, inertias, columns, frames, rows, loop_columns = (
    _accessor(name) for name in ('moving', 'inertias', 'columns', 'frames', 'rows', 'loop_columns')
)
waypoints, pieces = _accessor('waypoints'), _accessor('pieces')
zeros, tau, drift, torques, extra, loads = (
    _accessor(name) for name in ('zeros', 'tau', 'drift', 'torques', 'extra', 'loads')
)


matrix = matrices(SLOTS['scratch'])  # a dense one in the scratch: handle, offset, rows, columns


@kernel
def resize(m, nv):
    """Tell the tables that have one record per velocity how many there are now."""
    m[SLOT_DOFS] = m[SLOT_COLUMNS] = m[SLOT_CLUSTER_DOFS] = nv
    m[SLOT_ZEROS] = m[SLOT_TAU] = m[SLOT_DRIFT] = nv


SLOT_DOFS, SLOT_COLUMNS, SLOT_CLUSTER_DOFS, SLOT_ZEROS, SLOT_TAU, SLOT_DRIFT = (
    SLOTS[name] + 1 for name in PER_VELOCITY
)

# --- the closed categories ---------------------------------------------------------------------
REVOLUTE, PRISMATIC, PLANAR, SPHERICAL, FREE = range(5)  # body.joint
# loop.type: the order of description.LoopType
(
    LOOP_FIXED,
    LOOP_REVOLUTE,
    LOOP_PRISMATIC,
    LOOP_CYLINDRICAL,
    LOOP_UNIVERSAL,
    LOOP_SPHERICAL,
    LOOP_PLANAR,
    LOOP_SURFACE,
    LOOP_FREE,
) = range(9)
NO_CONTACT, BILATERAL, UNILATERAL = range(3)  # loop.contact
NO_MODE, SLIDE, STICK, SOFT = range(4)  # loop.mode
PLANE, SPHERE, CYLINDER, FUNCTION = range(4)  # loop.shape
BETWEEN_POINTS, ON_JOINT, ON_LOOP, ON_TENDON, ON_PATH, ON_BALL = range(6)  # spring.type
POINT, AROUND_BALL, AROUND_ROD = range(3)  # waypoint.shape
SMOOTH, SLIDING, STANDING = range(3)  # dof.slip: as a function of speed; as noted; not at all
STUCK, AT_LOWER, AT_UPPER, FIXED = range(4)  # hold.mode: by friction, a stop, two that meet

# --- what a kernel returns ---------------------------------------------------------------------
(
    OK,
    NOT_FINITE,
    NOT_UNIT,
    LOOP_OPEN,
    SINGULAR,
    NOT_POSITIVE,
    UNSOLVED,
    EVENT,
    LOCKED,
    WRONG_SIZE,
    TOO_STIFF,
) = range(11)
