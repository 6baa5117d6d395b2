"""
From a description to the flat arrays of the kernels.

Links that are fixed to each other become one body; each keeps its name and its placement in the
body. A body's frame is the child link's frame turned so that the joint axis is z, which makes the
kernels' revolute and prismatic joints cheap. Bodies are numbered depth first, brothers in the
order of their joints' names: the order in which Pinocchio numbers them.
"""

from dataclasses import dataclass, field

import numpy as np

from closed_chain_dynamics.description import JointType, LoopType
from closed_chain_dynamics.errors import DescriptionError
from closed_chain_dynamics.kernels import layout as at

__all__ = ['Packing', 'pack']

KERNEL_TYPES = {
    JointType.REVOLUTE: at.REVOLUTE,
    JointType.CONTINUOUS: at.REVOLUTE,
    JointType.PRISMATIC: at.PRISMATIC,
    JointType.PLANAR: at.PLANAR,
    JointType.SPHERICAL: at.SPHERICAL,
    JointType.FLOATING: at.FREE,
}
VELOCITY_SUFFIXES = {
    JointType.PLANAR: ('vx', 'vy', 'wz'),
    JointType.SPHERICAL: ('wx', 'wy', 'wz'),
    JointType.FLOATING: ('vx', 'vy', 'vz', 'wx', 'wy', 'wz'),
}
LOOP_TYPES = {kind: number for number, kind in enumerate(LoopType)}
LOOP_SUFFIXES = {
    LoopType.FIXED: (),
    LoopType.REVOLUTE: ('',),
    LoopType.PRISMATIC: ('',),
    LoopType.CYLINDRICAL: (':vz', ':wz'),
    LoopType.UNIVERSAL: (':w1', ':w2'),
    LoopType.SPHERICAL: (':wx', ':wy', ':wz'),
    LoopType.PLANAR: (':vx', ':vy', ':wz'),
    LoopType.SURFACE: (':vx', ':vy', ':wx', ':wy', ':wz'),
    LoopType.FREE: (':vx', ':vy', ':vz', ':wx', ':wy', ':wz'),
}
# loop types whose axis matters: their frames are turned so that the axis is z
AXIAL_LOOPS = {
    LoopType.REVOLUTE,
    LoopType.PRISMATIC,
    LoopType.CYLINDRICAL,
    LoopType.UNIVERSAL,
    LoopType.PLANAR,
    LoopType.SURFACE,
}


CLOSING_TOLERANCE = 1e-6  # largest error of a closed loop [m, or rad]
RANK_TOLERANCE = 1e-6  # pivots of J_C below this share of the largest entry count as zero


@dataclass
class Body:
    """A set of links that are fixed to each other, moved by one joint."""

    joint: object = None  # description.Joint, None for the world
    parent: int = 0
    R_tree: np.ndarray = field(default_factory=lambda: np.eye(3))
    p_tree: np.ndarray = field(default_factory=lambda: np.zeros(3))
    mass: float = 0.0
    first_moment: np.ndarray = field(default_factory=lambda: np.zeros(3))
    second_moment: np.ndarray = field(default_factory=lambda: np.zeros((3, 3)))

    def add(self, inertia, R, p):
        """Add the inertia of a link that stands at R, p in the body."""
        com = p + R @ inertia.origin.position
        self.mass += inertia.mass
        self.first_moment += inertia.mass * com
        self.second_moment += R @ inertia.tensor @ R.T + inertia.mass * _parallel_axis(com)

    def inertia_about_com(self):
        """Return mass, centre of mass (3,) and the inertia about it (3, 3), in body axes."""
        if self.mass == 0.0:
            return 0.0, np.zeros(3), self.second_moment
        com = self.first_moment / self.mass
        return self.mass, com, self.second_moment - self.mass * _parallel_axis(com)


@dataclass
class Packing:
    """The arrays of the kernels, and the names that go with their rows."""

    mi: np.ndarray
    mf: np.ndarray
    w: np.ndarray
    bodies: list
    links: dict  # link name -> (body, R, p)
    joints: dict  # moving joint name -> body
    coordinate_names: list
    loop_coordinate_names: list
    actuator_names: list


def rotation_to(axis):
    """Return the smallest rotation that takes z to a unit vector, (3, 3)."""
    x, y, z = axis
    if z >= 0.0:
        k = 1.0 / (1.0 + z)
    elif x * x + y * y == 0.0:
        return np.diag([1.0, -1.0, -1.0])
    else:  # the same number; 1 + z has lost its digits when the axis is close to -z
        k = (1.0 - z) / (x * x + y * y)
    return np.array(
        [[1.0 - k * x * x, -k * x * y, x], [-k * x * y, 1.0 - k * y * y, y], [-x, -y, z]]
    )


def _parallel_axis(r):
    return (r @ r) * np.eye(3) - np.outer(r, r)


def _six(tensor):
    """Return xx xy xz yy yz zz of a symmetric tensor."""
    return tensor[np.triu_indices(3)]


def pack(description, gravity):
    """Return the Packing of a description: every table filled, all loops of the file as given."""
    bodies, links, joints = _grow(description)
    names, dof_of = [], {}
    rows = _Tables()
    _pack_tree(rows, bodies, names, dof_of)
    loop_names = _pack_loops(rows, description, links)
    _pack_couplings(rows, description, bodies, joints, dof_of)
    _pack_springs(rows, description, links, bodies, joints, dof_of, loop_names)
    actuators = _pack_actuators(rows, description, joints, names, dof_of, loop_names)
    _set_preferences(rows, bodies, dof_of)
    length = _characteristic_length(bodies, description)
    rows.add(
        at.WORLD_F, at.WORLD_F_COLUMNS, [[*gravity, length, CLOSING_TOLERANCE, RANK_TOLERANCE]]
    )
    _set_scales(rows, names, length)
    _remember_home(rows)
    mi, mf, w = _lay_out(rows, len(bodies), names, loop_names, description)
    return Packing(mi, mf, w, bodies, links, joints, names, loop_names, actuators)


def _grow(description):
    """Walk the tree depth first and merge links that are fixed to each other."""
    children = {}
    for joint in sorted(description.joints, key=lambda joint: joint.name):
        children.setdefault(joint.parent, []).append(joint)
    inertias = {link.name: link.inertia for link in description.links}
    bodies, links, joints = [Body()], {}, {}
    # link, the joint that moves it, the body that carries the joint, and where in that body
    stack = [(description.root, None, 0, np.eye(3), np.zeros(3))]
    while stack:
        name, joint, number, R, p = stack.pop()
        if joint is not None and joint.type is not JointType.FIXED:
            axial = joint.type.nv == 1 or joint.type is JointType.PLANAR
            R_axis = rotation_to(joint.axis) if axial else np.eye(3)
            bodies.append(Body(joint, number, R @ R_axis, p))
            number, R, p = len(bodies) - 1, R_axis.T, np.zeros(3)
            joints[joint.name] = number
        links[name] = (number, R, p)
        if inertias[name] is not None:
            bodies[number].add(inertias[name], R, p)
        # last in, first out: brothers are pushed in reverse
        for joint in reversed(children.get(name, ())):
            stack.append(
                (
                    joint.child,
                    joint,
                    number,
                    R @ joint.origin.rotation,
                    p + R @ joint.origin.position,
                )
            )
    return bodies, links, joints


class _Tables:
    """Tables collected one by one; laid out in one array at the end."""

    def __init__(self):
        self.of = {}

    def add(self, number, columns, rows):
        self.of[number] = np.array(rows, dtype=float).reshape(len(rows), columns)

    def __getitem__(self, number):
        return self.of[number]


def _pack_tree(rows, bodies, names, dof_of):
    body_i, body_f, dof_i, dof_f = [], [], [], []
    last_dof = {0: -1}
    iq = 0
    for number, body in enumerate(bodies):
        mass, com, inertia = body.inertia_about_com()
        body_f.append([*body.R_tree.ravel(), *body.p_tree, mass, *com, *_six(inertia)])
        if number == 0:
            body_i.append([0, -1, 0, 0, 0, 0, -1, 0])
            continue
        joint = body.joint
        suffixes = VELOCITY_SUFFIXES.get(joint.type)
        dof_of[joint.name] = (len(names), iq)
        body_i.append(
            [body.parent, KERNEL_TYPES[joint.type], iq, len(names), joint.type.nv, 0, -1, 0]
        )
        for k in range(joint.type.nv):
            up = len(names) - 1 if k else last_dof[body.parent]
            dof_i.append([number, up, 0, 0, 0, -1, -1])
            dof_f.append(_joint_law(joint))
            names.append(f'{joint.name}:{suffixes[k]}' if suffixes else joint.name)
        last_dof[number] = len(names) - 1
        iq += joint.type.nq
    for number in range(len(bodies) - 1, 0, -1):
        end = max(body_i[number][at.SUBTREE_END], number + 1)
        body_i[number][at.SUBTREE_END] = end
        up = body_i[bodies[number].parent]
        up[at.SUBTREE_END] = max(up[at.SUBTREE_END], end)
    body_i[0][at.SUBTREE_END] = len(bodies)
    rows.nq = iq
    rows.add(at.BODY_I, at.BODY_I_COLUMNS, body_i)
    rows.add(at.BODY_F, at.BODY_F_COLUMNS, body_f)
    rows.add(at.DOF_I, at.DOF_I_COLUMNS, dof_i)
    rows.add(at.DOF_F, at.DOF_F_COLUMNS, dof_f)


def _joint_law(joint):
    """Return damping, friction, range and limit moment of one coordinate of a joint."""
    stop = joint.limit_moment
    return [
        joint.dynamics.damping,
        joint.dynamics.friction,
        joint.limit.lower,
        joint.limit.upper,
        *((stop.stiffness, stop.damping, stop.transition) if stop else (0.0, 0.0, 0.0)),
        1.0,
    ]


def _any_law(dof_f):
    """Return whether any joint has damping, friction or a limit moment."""
    return bool(np.any(dof_f[:, [at.DAMPING, at.FRICTION, at.STOP_STIFFNESS, at.STOP_DAMPING]]))


def loop_frames(loop, links):
    """Return body, R, p of both ends of a loop joint, turned so that its axis is z."""
    parent_axis = loop.parent_axis
    if loop.type is LoopType.SURFACE and loop.contact is not None:
        parent_axis = loop.contact.normal
    ends = []
    for link, origin, axis in (
        (loop.parent, loop.parent_origin, parent_axis),
        (loop.child, loop.child_origin, loop.child_axis),
    ):
        body, R, p = links[link]
        R_axis = rotation_to(axis) if loop.type in AXIAL_LOOPS else np.eye(3)
        ends.append((body, R @ origin.rotation @ R_axis, p + R @ origin.position))
    return ends


def _pack_loops(rows, description, links):
    names, loop_i, loop_f, loop_dof_f = [], [], [], []
    for loop in description.loops:
        (body_1, R_1, p_1), (body_2, R_2, p_2) = loop_frames(loop, links)
        suffixes = LOOP_SUFFIXES[loop.type]
        kind, law = _contact_law(loop)
        n_rows = 0 if kind[1] == at.SOFT else loop.type.rows
        loop_i.append(
            [
                LOOP_TYPES[loop.type],
                body_1,
                body_2,
                loop.active,
                0,
                n_rows,
                -1,
                len(names),
                len(suffixes),
                *kind,
                0,
                0,
            ]
        )
        loop_f.append([*R_1.ravel(), *p_1, *R_2.ravel(), *p_2, 0.0, 0.0, 0.0, *law, 0.0, 0.0, 0.0])
        for suffix in suffixes:
            names.append(loop.name + suffix)
            loop_dof_f.append(_joint_law(loop))
    rows.add(at.LOOP_I, at.LOOP_I_COLUMNS, loop_i)
    rows.add(at.LOOP_F, at.LOOP_F_COLUMNS, loop_f)
    rows.add(at.LOOP_DOF_F, at.DOF_F_COLUMNS, loop_dof_f)
    return names


def _contact_law(loop):
    """Return what kind of contact a loop is, and its numbers from MU to CONTACT_DAMPING."""
    contact = loop.contact
    if contact is None or loop.type is not LoopType.SURFACE:
        return (at.NO_CONTACT, at.NO_MODE, at.PLANE), [0.0] * 6
    static = max(contact.mu, contact.mu_static or 0.0)  # what slides at once has not stuck
    return (
        (
            at.UNILATERAL if contact.unilateral else at.BILATERAL,
            at.SOFT if contact.stiffness > 0.0 else at.SLIDE,
            ('plane', 'sphere', 'cylinder').index(contact.surface),
        ),
        [
            contact.mu,
            static,
            contact.radius,
            contact.restitution,
            contact.stiffness,
            contact.damping,
        ],
    )


def _single_coordinate(what, name, bodies, joints, dof_of, file):
    """Return places in v and q of a joint with one degree of freedom, or say why it has not."""
    if name not in joints or bodies[joints[name]].joint.type.nv != 1:
        kind = 'a joint of the tree' if name not in joints else 'a joint with one coordinate'
        raise DescriptionError(
            f'joint {name!r} is not {kind}',
            where=what,
            file=file,
            repair='Name a revolute, continuous or prismatic <joint>.',
        )
    return dof_of[name]


def _pack_couplings(rows, description, bodies, joints, dof_of):
    coupling_i, coupling_f, term_i, term_f = [], [], [], []
    for coupling in description.couplings:
        coupling_i.append([len(term_i), len(coupling.terms), coupling.active, 0, -1])
        coupling_f.append([coupling.constant])
        for term in coupling.terms:
            dof, iq = _single_coordinate(
                f'coupling {coupling.name!r}', term.joint, bodies, joints, dof_of, description.file
            )
            term_i.append([dof, iq])
            term_f.append([*term.coefficients, 0.0, 0.0, 0.0, 0.0][:4])
    rows.add(at.COUPLING_I, at.COUPLING_I_COLUMNS, coupling_i)
    rows.add(at.COUPLING_F, 1, coupling_f)
    rows.add(at.TERM_I, at.TERM_I_COLUMNS, term_i)
    rows.add(at.TERM_F, 4, term_f)


def _pack_springs(rows, description, links, bodies, joints, dof_of, loop_names):
    spring_i, spring_f = [], []
    for spring in description.springs:
        law = [spring.stiffness, spring.damping, spring.rest]
        if spring.type == 'linear':
            (body_1, R_1, p_1), (body_2, R_2, p_2) = links[spring.from_link], links[spring.to_link]
            spring_i.append([0, body_1, body_2, 0, 0])
            spring_f.append([*(p_1 + R_1 @ spring.from_xyz), *(p_2 + R_2 @ spring.to_xyz), *law])
            continue
        if spring.joint in loop_names:
            loop = [loop.name for loop in description.loops].index(spring.joint)
            spring_i.append([2, loop, loop, loop_names.index(spring.joint), 0])
        else:
            dof, iq = _single_coordinate(
                f'spring {spring.name!r}', spring.joint, bodies, joints, dof_of, description.file
            )
            spring_i.append([1, 0, 0, dof, iq])
        spring_f.append([0.0] * 6 + law)
    rows.add(at.SPRING_I, at.SPRING_I_COLUMNS, spring_i)
    rows.add(at.SPRING_F, at.SPRING_F_COLUMNS, spring_f)


def _pack_actuators(rows, description, joints, names, dof_of, loop_names):
    """One actuator per coordinate of an actuated joint; a motor may sit on a loop joint."""
    limits = {joint.name: joint.limit for joint in (*description.joints, *description.loops)}
    actuator_names, actuator_i, actuator_f = [], [], []
    for actuator in description.actuators:
        on_loop = actuator.joint not in joints
        known = loop_names if on_loop else names
        for dof, name in enumerate(known):
            if name == actuator.joint or name.startswith(actuator.joint + ':'):
                actuator_names.append(name)
                actuator_i.append([on_loop, dof])
                actuator_f.append([limits[actuator.joint].effort])
    rows.add(at.ACTUATOR_I, at.ACTUATOR_I_COLUMNS, actuator_i)
    rows.add(at.ACTUATOR_F, at.ACTUATOR_F_COLUMNS, actuator_f)
    return actuator_names


def _set_preferences(rows, bodies, dof_of):
    """Prefer actuated joints, then those marked independent, as generalized coordinates."""
    dof_i = rows[at.DOF_I]
    for body in bodies[1:]:
        first = dof_of[body.joint.name][0]
        wanted = {True: 1, False: -1, None: 0}[body.joint.independent]
        dof_i[first : first + body.joint.type.nv, at.DOF_PREFERENCE] = wanted
    for number, (on_loop, dof) in enumerate(rows[at.ACTUATOR_I].astype(int)):
        if not on_loop:
            dof_i[dof, at.DOF_PREFERENCE], dof_i[dof, at.DOF_ACTUATOR] = 2, number


def _set_scales(rows, names, length):
    """Measure sliding coordinates in units of the typical length."""
    for dof, name in enumerate(names):
        body = rows[at.BODY_I][int(rows[at.DOF_I][dof, at.DOF_BODY])]
        slides = body[at.TYPE] == at.PRISMATIC or ':v' in name
        rows[at.DOF_F][dof, at.SCALE] = length if slides else 1.0


def _remember_home(rows):
    """Keep what a cut of a tree joint will change, so that it can be undone."""
    rows.add(at.HOME_BODY, at.HOME_BODY_COLUMNS, rows[at.BODY_I][:, [at.PARENT, at.TYPE, at.IV]])
    rows.add(at.HOME_DOF, 2, rows[at.DOF_I][:, [at.DOF_PREFERENCE, at.DOF_ACTUATOR]])
    rows.add(at.HOME_TREE, 12, rows[at.BODY_F][:, at.TREE_R : at.TREE_R + 12])
    rows.add(at.HOME_DOF_F, at.DOF_F_COLUMNS, rows[at.DOF_F])
    for home, number, column in (
        (at.HOME_TERMS, at.TERM_I, at.TERM_DOF),
        (at.HOME_SPRINGS, at.SPRING_I, at.SPRING_DOF),
        (at.HOME_ACTUATORS, at.ACTUATOR_I, at.ACTUATOR_DOF),
        (at.HOME_COUPLINGS, at.COUPLING_I, at.COUPLING_ACTIVE),
    ):
        rows.add(home, 1, rows[number][:, column])


def _characteristic_length(bodies, description):
    """Return a typical distance between joints, to weigh metres against radians in ranks [m]."""
    lengths = [np.linalg.norm(body.p_tree) for body in bodies[1:]]
    for loop in description.loops:
        lengths += [np.linalg.norm(loop.parent_origin.xyz), np.linalg.norm(loop.child_origin.xyz)]
    lengths = [length for length in lengths if length > 1e-9]
    return float(np.mean(lengths)) if lengths else 1.0


def _lay_out(rows, n, names, loop_names, description):
    """Put all tables into one array of integers, one of floats and one for results."""
    nv, n_loop_dofs = len(names), len(loop_names)
    n_loops, n_couplings = len(description.loops), len(description.couplings)
    # a point that sticks to its surface has three rows
    max_rows = n_couplings + sum(
        3 if loop.type is LoopType.SURFACE else loop.type.rows for loop in description.loops
    )
    shapes = {
        at.CLUSTER_I: (n, at.CLUSTER_I_COLUMNS),
        at.CLUSTER_DOFS: (1, nv),
        at.CLUSTER_BODIES: (1, n),
        at.CLUSTER_LOOPS: (1, n_loops),
        at.CLUSTER_COUPLINGS: (1, n_couplings),
        at.WORLD_W: (1, at.WORLD_W_COLUMNS),
        at.BODY_W: (n, at.BODY_W_COLUMNS),
        at.BODY_IA: (n, 36),
        at.DOF_W: (nv, at.DOF_W_COLUMNS),
        at.LOOP_W: (n_loops, at.LOOP_W_COLUMNS),
        at.ROW_W: (max_rows, at.ROW_W_COLUMNS),
        at.LOOP_DOF_W: (n_loop_dofs, at.LOOP_DOF_W_COLUMNS),
        at.VECTORS: (at.N_VECTORS, nv),
    }
    shapes.update({number: values.shape for number, values in rows.of.items()})
    ends = {'mi': at.HEAD, 'mf': 0, 'w': 0}
    directory = []
    # a cut joint becomes a free one: room for six velocities a body from the start
    room = 6 * (n - 1)
    for number in range(at.N_TABLES):
        where = 'mi' if number < at.WORLD_F else 'mf' if number < at.WORLD_W else 'w'
        directory.append((ends[where], *shapes[number]))
        size = shapes[number][0] * shapes[number][1]
        if number in (at.DOF_I, at.DOF_F, at.DOF_W, at.VECTORS, at.CLUSTER_DOFS) and nv:
            size = size // nv * room
        ends[where] += size
    # scratch: per cluster the augmented constraint matrix and a few square matrices; the worst
    # case is that all joints form one cluster
    scratch = max_rows * (room + 1 + max_rows) + 2 * room * room + 8 * room + n
    mi = np.zeros(ends['mi'], dtype=np.int64)
    mf, w = np.zeros(ends['mf'] + 1), np.zeros(ends['w'] + scratch)
    mi[at.DIRECTORY : at.HEAD] = np.ravel(directory)
    for number, values in rows.of.items():
        start = directory[number][0]
        array = mi if number < at.WORLD_F else mf
        array[start : start + values.size] = values.ravel()
    head = {
        at.N_BODIES: n,
        at.NQ: rows.nq,
        at.NV: nv,
        at.N_LOOPS: n_loops,
        at.N_COUPLINGS: n_couplings,
        at.N_SPRINGS: len(description.springs),
        at.N_ACTUATORS: len(rows[at.ACTUATOR_I]),
        at.MAX_ROWS: max_rows,
        at.N_LOOP_DOFS: n_loop_dofs,
        at.SCRATCH: ends['w'],
        at.PASSIVE_JOINTS: _any_law(rows[at.DOF_F]),
        at.PASSIVE_LOOPS: _any_law(rows[at.LOOP_DOF_F])
        or bool(np.any(rows[at.LOOP_I][:, at.LOOP_MODE] == at.SOFT)),
    }
    for place, value in head.items():
        mi[place] = value
    return mi, mf, w
