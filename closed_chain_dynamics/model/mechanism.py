"""
A mechanism: names on the outside, flat arrays of the kernels on the inside.

Paper 2, section IV, describes links by pointers: `parent`, `child`, `brother`, and `real` for the
virtual link that stands in for a link at a cut joint. Here the pointers are indices: a body's row
holds its parent, a loop's row holds the body that carries the virtual link and the real one.
Connecting and cutting switches rows on and off; nothing is allocated or compiled again.
"""

import copy

import numpy as np

from closed_chain_dynamics import kernels
from closed_chain_dynamics.description import read, write
from closed_chain_dynamics.errors import (
    ClosedChainError,
    DescriptionError,
    NameNotFound,
    StateError,
    StructureError,
)
from closed_chain_dynamics.kernels import layout as at
from closed_chain_dynamics.model import library
from closed_chain_dynamics.model.friction_lock import locked_error
from closed_chain_dynamics.model.packing import pack

__all__ = ['Mechanism', 'load']

STANDARD_GRAVITY = (0.0, 0.0, -9.80665)
FLOAT = np.dtype(float)
# by the joint types of the kernels: revolute, prismatic, planar, spherical, free
WIDTHS_IN_Q = (1, 1, 4, 4, 7)
STRUCTURE = [at.LOOP_ACTIVE, at.LOOP_MODE, at.LOOP_N_ROWS]  # what events change of a loop
VELOCITY_SUFFIXES = (
    ('',),
    ('',),
    (':vx', ':vy', ':wz'),
    (':wx', ':wy', ':wz'),
    (':vx', ':vy', ':vz', ':wx', ':wy', ':wz'),
)


def load(source, *, root_joint='fixed', actuated=None, gravity=STANDARD_GRAVITY):
    """
    Return the Mechanism that a file describes.

    `source` is a path (.urdf, .xacro, ...), the name of a shipped model, or a string of XML.
    `root_joint='floating'` lets the root link fly freely; `actuated` names the actuated joints
    (tree or loop) and overrides the file; `gravity` in world axes [m/s^2].
    """
    if not str(source).lstrip().startswith('<'):
        source = library.find(source)
    return Mechanism(read(source, root_joint=root_joint, actuated=actuated), gravity=gravity)


def _checked_gravity(gravity, where):
    try:
        gravity = np.array(gravity, dtype=float)
    except (TypeError, ValueError):
        gravity = np.full(3, np.nan)
    if gravity.shape != (3,) or not np.all(np.isfinite(gravity)):
        raise StateError(
            'gravity must be three finite numbers',
            where=where,
            repair='For example (0, 0, -9.80665), in world axes [m/s^2].',
        )
    return gravity


class Mechanism:
    """
    Bodies, joints and loops of one or several robots, ready for computation.

    Computations write into the mechanism's own workspace: use one `copy()` per thread.
    """

    def __init__(self, description, *, gravity=STANDARD_GRAVITY):
        gravity = _checked_gravity(gravity, description.name)
        self.description = description
        self.changes = 0  # of structure and gravity so far: whoever kept something looks at it
        self._packing = packing = pack(description, gravity)
        self.mi, self.mf, self.w = packing.mi, packing.mf, packing.w
        self.name = description.name
        self.link_names = list(packing.links)
        self.joint_names = list(packing.joints)
        self.loop_names = [loop.name for loop in description.loops]
        self.loop_coordinate_names = packing.loop_coordinate_names
        self.coupling_names = [coupling.name for coupling in description.couplings]
        self.actuator_names = packing.actuator_names
        self._build()
        self._refuse_loops_in_one_body()

    def _refuse_loops_in_one_body(self):
        """Refuse a loop between links that are fixed to each other and do not fit."""
        tolerance = self.table(at.WORLD_F)[0, at.CLOSING_TOLERANCE]
        gaps = None
        for loop, row in zip(self.description.loops, self.table(at.LOOP_I)):
            if row[at.LOOP_ACTIVE] and row[at.LOOP_BODY_1] == row[at.LOOP_BODY_2]:
                gaps = self.loop_gaps(self.neutral()) if gaps is None else gaps
                if max(gaps[loop.name]) > tolerance:
                    raise DescriptionError(
                        f'it joins {loop.parent!r} and {loop.child!r}, which are fixed to each '
                        f'other {gaps[loop.name][0]:.3g} m and {gaps[loop.name][1]:.3g} rad off',
                        where=f'loop joint {loop.name!r}',
                        file=self.description.file,
                        repair='Correct its origins, or let a joint move between the two links.',
                    )

    def __repr__(self):
        return (
            f'<Mechanism {self.name!r}: {self.nv} velocities, {len(self.loop_names)} loops, '
            f'{len(self.actuator_names)} actuators>'
        )

    # --- names and tables --------------------------------------------------------------------
    def table(self, number):
        """Return one of the kernels' tables as an array that shares its memory."""
        start, rows, columns = self.mi[at.DIRECTORY + 3 * number :][:3]
        array = self.mi if number < at.WORLD_F else self.mf if number < at.WORLD_W else self.w
        return array[start : start + rows * columns].reshape(rows, columns)

    def index(self, kind, name):
        """Return the place of a name in `<kind>_names`, or raise with the nearest names."""
        names = getattr(self, f'{kind}_names')
        try:
            return names.index(name)
        except ValueError:
            raise NameNotFound(kind.replace('_', ' '), name, names, where=self.name) from None

    def link_frame(self, link):
        """Return body number, rotation and position of a link in its body."""
        try:
            return self._packing.links[link]
        except KeyError:
            raise NameNotFound('link', link, self.link_names, where=self.name) from None

    def joint_slices(self, joint):
        """Return the places of a joint in q and in v, two slices."""
        try:
            body = self.table(at.BODY_I)[self._packing.joints[joint]]
        except KeyError:
            raise NameNotFound('joint', joint, self.joint_names, where=self.name) from None
        in_q = WIDTHS_IN_Q[body[at.TYPE]]
        return (
            slice(body[at.IQ], body[at.IQ] + in_q),
            slice(body[at.IV], body[at.IV] + body[at.N_DOF]),
        )

    @property
    def gravity(self):
        """Return the acceleration of gravity in world axes, (3,) [m/s^2]; may be assigned."""
        return self.table(at.WORLD_F)[0, at.GRAVITY : at.GRAVITY + 3].copy()

    @gravity.setter
    def gravity(self, value):
        self.table(at.WORLD_F)[0, at.GRAVITY : at.GRAVITY + 3] = _checked_gravity(value, self.name)
        self.changes += 1

    @property
    def total_mass(self):
        """Return the mass of all links, those fixed to the world included [kg]."""
        return float(self.table(at.BODY_F)[:, at.MASS].sum())

    # --- states --------------------------------------------------------------------------------
    def neutral(self):
        """Return the configuration with every joint at zero, (nq,)."""
        q = np.empty(self.nq)
        kernels.neutral(self.mi, q)
        return q

    def vector(self, values, length, what):
        """Return values as a contiguous array of floats, or say what does not fit."""
        if (
            type(values) is np.ndarray
            and values.dtype is FLOAT
            and values.shape == (length,)
            and values.flags.carray
        ):
            return values  # what the kernels take: the fast way, without a copy
        try:
            array = np.ascontiguousarray(values, dtype=float)
        except (TypeError, ValueError):
            raise StateError(
                f'{what} must be numbers, not {type(values).__name__}', where=self.name
            ) from None
        if array.shape != (length,):
            raise StateError(
                f'{what} has shape {array.shape} but the mechanism needs ({length},)',
                where=self.name,
                repair=self._expected(what),
            )
        return array if array.flags.writeable else array.copy()

    def _expected(self, what):
        names = ', '.join(self.coordinate_names[:8]) + (', ...' if self.nv > 8 else '')
        if what == 'q':
            return f'nq = {self.nq}; start from robot.neutral() or ccd.assemble(robot, ...).'
        return f'One number per coordinate: {names}.'

    def raise_for(self, status, q, *rates):
        """Raise the error that a kernel's status stands for, naming the coordinate."""
        if status == at.NOT_FINITE:
            for array in (q, *rates):
                bad = np.flatnonzero(~np.isfinite(array))
                if bad.size:
                    names = self.coordinate_names if array is not q else self._position_names()
                    raise StateError(
                        f'the value of {names[bad[0]]!r} is {array[bad[0]]}',
                        where=self.name,
                        repair='Give finite numbers only.',
                    )
        if status == at.NOT_UNIT:
            for joint in self.joint_names:
                part = q[self.joint_slices(joint)[0]]
                if part.size > 1:
                    part = part[2:] if part.size == 4 and self._is_planar(joint) else part[-4:]
                    norm = np.linalg.norm(part)
                    if abs(norm - 1.0) > kernels.UNIT_TOLERANCE:
                        raise StateError(
                            f'the orientation of joint {joint!r} has length {norm:.9g} instead '
                            'of 1',
                            where=self.name,
                            repair='Normalise the quaternion (x, y, z, w; planar: cos, sin).',
                        )
        if status == at.LOOP_OPEN:
            gaps = self.loop_gaps(q)
            worst = max(gaps, key=lambda name: max(gaps[name]))
            kind = 'loop' if worst in self.loop_names else 'coupling'
            raise StateError(
                f'{kind} {worst!r} is open by {gaps[worst][0]:.3g} m and {gaps[worst][1]:.3g} '
                f'rad, more than {self.table(at.WORLD_F)[0, at.CLOSING_TOLERANCE]:.3g}',
                where=self.name,
                repair='Close it first: q = ccd.assemble(robot, ...).',
            )
        if status == at.LOCKED:
            raise locked_error(self)
        if status == at.NOT_POSITIVE:
            names = ', '.join(map(repr, self._massless_motion(q)))
            raise StateError(
                f'no mass resists a motion of {names}',
                where=self.name,
                repair='Give the links that it moves an <inertial>.',
            )
        raise ClosedChainError(f'the computation failed with status {status}', where=self.name)

    def loop_gaps(self, q):
        """Return how far closed loops and couplings are open at q, {name: (metres, radians)}."""
        q = self.vector(q, self.nq, 'q')
        gaps = np.zeros((len(self.loop_names), 2))
        status = kernels.compute_gaps(self.mi, self.mf, self.w, q, gaps)
        if status:
            self.raise_for(status, q)
        named = {
            name: (float(gap[0]), float(gap[1]))
            for name, gap, loop in zip(self.loop_names, gaps, self.table(at.LOOP_I))
            if loop[at.LOOP_ACTIVE]
        }
        for coupling, row in zip(self.description.couplings, self.table(at.COUPLING_I)):
            if row[at.COUPLING_ACTIVE]:
                error = abs(
                    coupling.constant
                    + sum(
                        q[self.joint_slices(term.joint)[0]][0] ** power * c
                        for term in coupling.terms
                        for power, c in enumerate(term.coefficients, start=1)
                    )
                )
                slides = (
                    self.table(at.BODY_I)[self._packing.joints[coupling.terms[0].joint], at.TYPE]
                    == at.PRISMATIC
                )
                named[coupling.name] = (error, 0.0) if slides else (0.0, error)
        return named

    def _massless_motion(self, q):
        """Return the coordinates that move most in the motion that A = W^T M W misses."""
        from closed_chain_dynamics.dynamics.coordinates import coordinates
        from closed_chain_dynamics.dynamics.tree import mass_matrix

        W = coordinates(self.copy(), q).W
        motion = np.abs(W @ np.linalg.eigh(W.T @ mass_matrix(self, q) @ W)[1][:, 0])
        return [self.coordinate_names[j] for j in np.flatnonzero(motion > 0.3 * motion.max())]

    def _is_planar(self, joint):
        return self._packing.bodies[self._packing.joints[joint]].joint.type.value == 'planar'

    def _position_names(self):
        return [
            name
            for joint in self.joint_names
            for name in [joint]
            * (self.joint_slices(joint)[0].stop - self.joint_slices(joint)[0].start)
        ]

    # --- structure ----------------------------------------------------------------------------
    def is_connected(self, name):
        """Return whether a loop joint is closed."""
        return bool(self.table(at.LOOP_I)[self.index('loop', name), at.LOOP_ACTIVE])

    def connect(self, name):
        """Close a loop joint: its virtual link joins the structure (paper 2, section V-B)."""
        self._switch(name, 1)

    def cut(self, name):
        """Open a loop joint: its virtual link leaves the structure (paper 2, section V-B)."""
        self._switch(name, 0)

    def _switch(self, name, active):
        loop = self.table(at.LOOP_I)[self.index('loop', name)]
        if loop[at.LOOP_ACTIVE] == active:
            state, other = ('connected', 'Cut') if active else ('open', 'Connect')
            raise StructureError(
                f'loop joint {name!r} is already {state}',
                where=self.name,
                repair=f'{other} it first.',
            )
        loop[at.LOOP_ACTIVE] = active
        self._build()

    def _build(self):
        """Find clusters; the rank of the loops away from singular poses is to be learnt anew."""
        kernels.build_clusters(self.mi)
        self._took_shape()

    def _took_shape(self):
        """Note names and sizes of the present structure."""
        self.changes += 1
        self.nq, self.nv = int(self.mi[at.NQ]), int(self.mi[at.NV])
        self._zeros = np.zeros(self.nv)
        self.rank_known = self.mi[at.N_ROWS] == 0
        body_i = self.table(at.BODY_I)
        self.coordinate_names = [
            name + suffix
            for name, body in self._packing.joints.items()
            for suffix in VELOCITY_SUFFIXES[body_i[body, at.TYPE]]
        ]

    def structure(self):
        """Return which joints are connected and cut, to go back to with `restructure`."""
        return self.table(at.LOOP_I)[:, STRUCTURE].copy(), self._is_free()

    def _is_free(self):
        """Return which bodies a cut has set free, (n,)."""
        joined = self.table(at.BODY_I)[:, [at.PARENT, at.TYPE]]
        return np.any(joined != self.table(at.HOME_BODY)[:, :2], axis=1)

    def restructure(self, structure):
        """Go back to a structure."""
        loops, free = structure
        self.table(at.LOOP_I)[:, STRUCTURE] = loops
        if not np.array_equal(free, self._is_free()):
            kernels.compute_layout(self.mi, self.mf, self.w, free)
        self._build()

    def cut_joint(self, name, q, v):
        """
        Cut a joint of the tree: the part beyond it flies freely; return its state, q and v.

        The part hangs on the world by a free joint of the same name (paper 2, section V-B).
        """
        q, v = self.vector(q, self.nq, 'q'), self.vector(v, self.nv, 'v')
        self.joint_slices(name)  # an unknown name is told
        body = self._packing.joints[name]
        if self.table(at.BODY_I)[body, at.TYPE] == at.FREE:
            raise StructureError(
                f'joint {name!r} is free already',
                where=self.name,
                repair='Cut a joint that holds something.',
            )
        q_new, v_new = np.empty(self.nq + 7), np.empty(self.nv + 6)
        kernels.compute_free(self.mi, self.mf, self.w, q, v, body, q_new, v_new)
        self._took_shape()
        return q_new[: self.nq].copy(), v_new[: self.nv].copy()

    def join_joint(self, name, q, v, *, gap, angle):
        """
        Undo `cut_joint`: join the part again, and let the joint catch its motion; return q, v.

        Refused, with nothing changed, where the part is further than `gap` [m] or `angle` [rad].
        """
        q, v = self.vector(q, self.nq, 'q'), self.vector(v, self.nv, 'v')
        self.joint_slices(name)
        body, before = self._packing.joints[name], self.structure()
        if not before[1][body]:
            raise StructureError(
                f'joint {name!r} is already connected', where=self.name, repair='Cut it first.'
            )
        q_new, v_new = np.empty(self.nq), np.empty(self.nv)
        status, metres, radians = kernels.compute_home(
            self.mi, self.mf, self.w, q, v, body, q_new, v_new
        )
        self._took_shape()
        if status or metres > gap or radians > angle:
            self.restructure(before)
            if status:
                self.raise_for(status, q, v)
            raise StructureError(
                f'joint {name!r} is {metres:.4g} m and {radians:.4g} rad apart, more than the '
                f'{gap:g} m and {angle:g} rad that a connection closes',
                where=self.name,
                repair='Bring the two parts together first, or allow more with gap= and angle=.',
            )
        return q_new[: self.nq].copy(), v_new[: self.nv].copy()

    def set_surface(self, name, function):
        """Let the point of a surface loop slide on C(x, y, z) = 0; see `surfaces.set_surface`."""
        from closed_chain_dynamics.model.surfaces import set_surface

        set_surface(self, name, function)

    def compile(self, q=None):
        """Return this mechanism in generated code for its present structure; see `codegen`."""
        from closed_chain_dynamics.codegen.compiled import compile_mechanism

        return compile_mechanism(self, q)

    def copy(self):
        """Return an independent mechanism in the same structure, with its own workspace."""
        other = copy.copy(self)
        other.mi, other.mf, other.w = self.mi.copy(), self.mf.copy(), np.zeros_like(self.w)
        return other

    def save(self, path):
        """Write the description in the project's own spelling of URDF."""
        write(self.description, path)
