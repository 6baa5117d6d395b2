"""
Where everything stands in the arrays that the kernels share.

A mechanism is two arrays, `mi` (integers) and `mf` (floats); what a computation writes goes into
a third, `w`. Each holds several tables, and a directory at the head of `mi` says where: a kernel
takes three arrays however much a model contains, which keeps the cost of a call from Python low.
A table is looked at through a view that owns nothing, so that taking one costs nothing either.

Symbol        Meaning
n             bodies, the world included as body 0; links fixed to each other are one body
nv            velocities of the tree, the length of theta_O'
R, p          placement of a body in the world, shifted by `origin` (see kinematics.py)
V, A          spatial velocity and acceleration (linear, angular) at the shifted world origin
F             spatial force that the joint passes on to the body, same point and axes
S_w           motion subspace of a degree of freedom, same point and axes
"""

from llvmlite import ir
from numba import carray, njit, types
from numba.extending import intrinsic

OPTIONS = {'cache': True, 'nogil': True, 'error_model': 'numpy'}
kernel = njit(**OPTIONS, fastmath={'contract'})


@intrinsic
def _address(typing, array, offset):
    """Return the address of an element, without a reference to the array that holds it."""

    def codegen(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        return builder.gep(data, [arguments[1]])

    return types.CPointer(array.dtype)(array, offset), codegen


@intrinsic
def call_at(typing, address, given, out):
    """Call a compiled `void f(const double *given, double *out)` at an address."""

    def codegen(context, builder, signature, arguments):
        data = [
            context.make_array(kind)(context, builder, array).data
            for kind, array in zip(signature.args[1:], arguments[1:])
        ]
        kind = ir.FunctionType(ir.VoidType(), [ir.DoubleType().as_pointer()] * 2)
        builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), data)
        return context.get_dummy_value()

    return types.void(address, given, out), codegen


@kernel
def table(array, mi, number):
    """Return a view of one table, (rows, columns), as the directory in `mi` gives it."""
    k = DIRECTORY + 3 * number
    return carray(_address(array, mi[k]), (mi[k + 1], mi[k + 2]))


@kernel
def matrix(array, offset, rows, columns):
    """Return a view of a dense matrix that starts at `offset`."""
    return carray(_address(array, offset), (rows, columns))


# --- the head of mi -------------------------------------------------------------------------
(
    N_BODIES,
    NQ,
    NV,
    N_LOOPS,
    N_COUPLINGS,
    N_SPRINGS,
    N_ACTUATORS,
    N_CLUSTERS,
    N_ROWS,
    MAX_ROWS,
    N_LOOP_DOFS,
    SCRATCH,
    PASSIVE_JOINTS,
    PASSIVE_LOOPS,
    MOBILITY,
    RANK,
    FULL_RANK,
    N_CONTACTS,
) = range(18)
DIRECTORY = 20

# --- tables of integers, in mi --------------------------------------------------------------
(
    BODY_I,
    DOF_I,
    LOOP_I,
    COUPLING_I,
    TERM_I,
    SPRING_I,
    ACTUATOR_I,
    CLUSTER_I,
    CLUSTER_DOFS,
    CLUSTER_BODIES,
    CLUSTER_LOOPS,
    CLUSTER_COUPLINGS,
    HOME_BODY,
    HOME_DOF,
    HOME_TERMS,
    HOME_SPRINGS,
    HOME_ACTUATORS,
    HOME_COUPLINGS,
) = range(18)
# --- tables of floats, in mf -----------------------------------------------------------------
(
    WORLD_F,
    BODY_F,
    DOF_F,
    LOOP_F,
    LOOP_DOF_F,
    COUPLING_F,
    TERM_F,
    SPRING_F,
    ACTUATOR_F,
    HOME_TREE,
    HOME_DOF_F,
) = range(18, 29)
# --- tables of results, in w -----------------------------------------------------------------
WORLD_W, BODY_W, BODY_IA, DOF_W, LOOP_W, ROW_W, LOOP_DOF_W, VECTORS = range(29, 37)
N_TABLES = 37
HEAD = DIRECTORY + 3 * N_TABLES

# columns of BODY_I
PARENT, TYPE, IQ, IV, N_DOF, SUBTREE_END, CLUSTER, CARRIES = range(8)
BODY_I_COLUMNS = 8
# columns of HOME_BODY: how the body was joined before a cut, which may be undone. The other HOME
# tables hold what goes with a coordinate of the tree as it was described: preference and actuator
# (HOME_DOF), laws (HOME_DOF_F), placement of the joint (HOME_TREE), and for terms of couplings,
# springs and actuators the coordinate they sit on; for couplings whether they are wanted.
HOME_PARENT, HOME_TYPE, HOME_IV = range(3)
HOME_BODY_COLUMNS = 3
# columns of DOF_I: the body moved; the nearest degree of freedom towards the root (-1: none);
# place within the cluster; 1 where it is a dependent coordinate (theta_S); preference (2 actuated,
# 1 wanted independent, 0 indifferent, -1 wanted dependent); its actuator (-1: none); the nearest
# towards the root that belongs to the same cluster (-1: none)
DOF_BODY, DOF_PARENT, DOF_LOCAL, DOF_DEPENDENT, DOF_PREFERENCE, DOF_ACTUATOR, DOF_ABOVE = range(7)
DOF_I_COLUMNS = 7
# columns of LOOP_I: type, bodies of both ends, active, first row and number of rows, cluster,
# first coordinate of the loop joint and their number; what kind of contact it is, if any; the
# address of a surface that is given as a function; the nearest common ancestor of both ends
(
    LOOP_TYPE,
    LOOP_BODY_1,
    LOOP_BODY_2,
    LOOP_ACTIVE,
    LOOP_ROW,
    LOOP_N_ROWS,
    LOOP_CLUSTER,
    LOOP_DOF,
    LOOP_N_DOFS,
    LOOP_CONTACT,
    LOOP_MODE,
    LOOP_SHAPE,
    LOOP_FUNCTION,
    LOOP_TOP,
) = range(14)
LOOP_I_COLUMNS = 14
# LOOP_CONTACT; LOOP_MODE of a contact; LOOP_SHAPE of its surface
NO_CONTACT, BILATERAL, UNILATERAL = range(3)
NO_MODE, SLIDE, STICK, SOFT = range(4)
PLANE, SPHERE, CYLINDER, FUNCTION = range(4)
# columns of COUPLING_I: first term, number of terms, active, row, cluster
COUPLING_TERM, COUPLING_N_TERMS, COUPLING_ACTIVE, COUPLING_ROW, COUPLING_CLUSTER = range(5)
COUPLING_I_COLUMNS = 5
# columns of TERM_I: degree of freedom, place in q
TERM_DOF, TERM_IQ = range(2)
TERM_I_COLUMNS = 2
# columns of SPRING_I: type (0 linear, 1 torsional on a tree joint, 2 torsional on a loop joint);
# bodies of both ends (type 2: the loop); place of the joint in v, or in the loop coordinates; in q
SPRING_TYPE, SPRING_BODY_1, SPRING_BODY_2, SPRING_DOF, SPRING_IQ = range(5)
SPRING_I_COLUMNS = 5
# columns of ACTUATOR_I: 0 on the tree or 1 on a loop joint; its degree of freedom there
ACTUATOR_ON_LOOP, ACTUATOR_DOF = range(2)
ACTUATOR_I_COLUMNS = 2
# columns of CLUSTER_I: first place and number in the lists of degrees of freedom, bodies, loops
# and couplings; the body outside that carries the cluster; number of rows; rank; where its
# matrices stand in the scratch part of w; whether theta_G has been chosen; columns of the
# constraint matrix: coordinates, bias and, where contact forces are wanted, its row operations
(
    CLUSTER_DOF,
    CLUSTER_N_DOFS,
    CLUSTER_BODY,
    CLUSTER_N_BODIES,
    CLUSTER_LOOP,
    CLUSTER_N_LOOPS,
    CLUSTER_COUPLING,
    CLUSTER_N_COUPLINGS,
    CLUSTER_PARENT,
    CLUSTER_N_ROWS,
    CLUSTER_RANK,
    CLUSTER_SCRATCH,
    CLUSTER_CHOSEN,
    CLUSTER_WIDTH,
) = range(14)
CLUSTER_I_COLUMNS = 14

# columns of BODY_F: placement of the joint in the parent body (R row by row), mass, centre of
# mass, inertia about it (xx xy xz yy yz zz) in body axes
TREE_R, TREE_P, MASS, COM, INERTIA = 0, 9, 12, 13, 16
BODY_F_COLUMNS = 22
# columns of DOF_F and LOOP_DOF_F: viscous damping, Coulomb friction, range, the law of the limit
# moment (stiffness, damping, transition), and the unit of the coordinate (1 rad, or the typical
# length)
DAMPING, FRICTION, LOWER, UPPER, STOP_STIFFNESS, STOP_DAMPING, STOP_TRANSITION, SCALE = range(8)
DOF_F_COLUMNS = 8
# columns of LOOP_F: placement of both loop frames in their bodies; for a contact the point where
# it sticks (in frame 1), friction when it slides and when it sticks, radius of the surface,
# restitution, stiffness and damping of a soft one, direction of sliding (in frame 1)
(
    LOOP_R_1,
    LOOP_P_1,
    LOOP_R_2,
    LOOP_P_2,
    ANCHOR,
    MU,
    MU_STATIC,
    RADIUS,
    RESTITUTION,
    CONTACT_STIFFNESS,
    CONTACT_DAMPING,
    DIRECTION,
) = 0, 9, 12, 21, 24, 27, 28, 29, 30, 31, 32, 33
LOOP_F_COLUMNS = 36
# columns of SPRING_F: points in their bodies, stiffness, damping, rest
SPRING_P_1, SPRING_P_2, STIFFNESS, SPRING_DAMPING, REST = 0, 3, 6, 7, 8
SPRING_F_COLUMNS = 9
# columns of ACTUATOR_F: effort limit
EFFORT = 0
ACTUATOR_F_COLUMNS = 1
# WORLD_F: one row. Gravity, characteristic length, tolerances
GRAVITY, LENGTH, CLOSING_TOLERANCE, RANK_TOLERANCE = 0, 3, 4, 5
WORLD_F_COLUMNS = 6

# WORLD_W: one row. Shift of the origin; energies; power of motors and of external forces, and
# power lost to damping and friction
ORIGIN, KINETIC, POTENTIAL, POWER, DISSIPATION = 0, 3, 4, 5, 6
WORLD_W_COLUMNS = 8
# columns of BODY_W
R, P, V, A, F, C = 0, 9, 12, 18, 24, 30
BODY_W_COLUMNS = 33
# columns of DOF_W: motion subspace, articulated inertia times it; for a cluster of one degree of
# freedom the inverse of its inertia and the force left for it
S_W, U, D_INVERSE, REST_FORCE = 0, 6, 12, 13
DOF_W_COLUMNS = 14
# rows of VECTORS, each (nv,): zeros, generalized force, bias acceleration W' theta_G'
ZERO, TAU, BIAS = range(3)
N_VECTORS = 3
# columns of ROW_W, one per constraint row: its covector, position error, bias J_C' theta'
ROW_F, ROW_ERROR, ROW_BIAS = 0, 6, 7
ROW_W_COLUMNS = 8
# columns of LOOP_W: placement of both loop frames in the world; for a contact its unit normal, the
# force along it, the friction force on the child, and the unit direction in which it slides
CONTACT_NORMAL, NORMAL_FORCE, FRICTION_FORCE, SLIDING = 24, 27, 28, 31
LOOP_W_COLUMNS = 34
# columns of LOOP_DOF_W: covector of a coordinate of a loop joint, its position and rate
LOOP_DOF_ROW, LOOP_DOF_POSITION, LOOP_DOF_RATE = 0, 6, 7
LOOP_DOF_W_COLUMNS = 8

# --- joint types of the kernels ---------------------------------------------------------------
REVOLUTE, PRISMATIC, PLANAR, SPHERICAL, FREE = range(5)
# --- loop types: the order of description.LoopType --------------------------------------------
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

# --- what a kernel returns ----------------------------------------------------------------------
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
) = range(10)
