"""
MJCF, MuJoCo's dialect: bodies, joints, <equality> connect, weld and joint, and actuators.

A joint's position is MuJoCo's `qpos` (`ref` included); MuJoCo's pose at `qpos0` and every
keyframe become assemblies. What the description has no place for - armature, tendons, contact
pairs - is named in a note.
"""

from pathlib import Path

import numpy as np

from closed_chain_dynamics.description.actuators import resolve
from closed_chain_dynamics.description.checks import check_references, check_structure
from closed_chain_dynamics.description.elements import (
    Assembly,
    Coupling,
    CouplingTerm,
    Description,
    Dynamics,
    Geometry,
    Inertia,
    Joint,
    JointType,
    Limit,
    Link,
    LoopJoint,
    LoopType,
    Pose,
    Spring,
)
from closed_chain_dynamics.description.inertia_checks import check_inertias
from closed_chain_dynamics.description.mjcf_frames import (
    Defaults,
    Frames,
    inertia_of_shapes,
    pose_of,
    quaternion,
    read_shape,
    rotation,
    turn,
    upper_triangle,
)
from closed_chain_dynamics.errors import DescriptionError, NameNotFound

__all__ = ['read_mjcf']

WORLD = 'world'
REFUSED = ('include', 'attach', 'replicate', 'composite', 'flexcomp')
JOINT_TYPES = {
    'hinge': JointType.REVOLUTE,
    'slide': JointType.PRISMATIC,
    'ball': JointType.SPHERICAL,
    'free': JointType.FLOATING,
}
NOT_A_MOTOR = ('adhesion', 'muscle', 'damper')


def read_mjcf(reader, root, path, *, actuated=None, root_joint='fixed'):
    """Return the Description of a <mujoco> document."""
    if root_joint != 'fixed':
        raise DescriptionError(
            'an MJCF file says by itself which bodies are free',
            file=reader.label,
            repair='Add <freejoint/> to the body.',
        )
    for element in root.iter(*REFUSED):
        raise reader.error(
            element,
            f'<{element.tag}> is not read',
            'Let MuJoCo write the model out as one file (mj_saveLastXML).',
        )
    model = _Model(reader, root, path)
    model.walk(root.findall('worldbody'))
    if not model.joints:
        raise reader.error(root, 'it has no <body>', 'Add bodies to <worldbody>.')
    loops, couplings = model.equalities()
    motors = model.motors()
    joints = tuple(model.joints)
    name = root.get('model', 'robot')
    check_structure(Description(name, tuple(model.links), joints, loops), reader)
    joints, loops, actuators = resolve(
        reader, root, joints, loops, argument=actuated, motors=motors
    )
    model.say_what_is_left_out()
    description = Description(
        name,
        tuple(model.links),
        joints,
        loops,
        couplings=couplings,
        springs=tuple(model.springs),
        actuators=actuators,
        assemblies=model.assemblies(),
        file=str(path or ''),
    )
    check_references(description, reader)
    check_inertias(description, reader)
    return description


class _Model:
    """What is collected while walking through the bodies."""

    def __init__(self, reader, root, path):
        self.reader, self.root = reader, root
        self.meshes = _meshes(reader, root, path)
        self.frames, self.defaults = Frames(reader, root), Defaults(root)
        self.links, self.joints, self.springs = [Link(WORLD)], [], []
        self.at_start = {WORLD: (np.eye(3), np.zeros(3))}  # body -> placement at qpos0
        self.sites, self.reference = {}, {}  # site -> (body, R, p); qpos0 by joint
        self.armature = []

    # --- bodies -----------------------------------------------------------------------------
    def walk(self, worldbodies):
        """Read all bodies under the world."""
        for element in worldbodies:
            self._contents(element, WORLD, '', (np.eye(3), np.zeros(3)))

    def _contents(self, element, body, inherited, offset):
        """Read sites and bodies inside a body or a <frame>, whose `offset` they stand in."""
        R, p = offset
        inherited = element.get('childclass', inherited)
        for child in element.iterchildren('{*}*'):
            if child.tag == 'body':
                self._body(child, body, inherited, offset)
            elif child.tag == 'frame':
                R_f, p_f = self.frames.read(child)
                self._contents(child, body, inherited, (R @ R_f, p + R @ p_f))
            elif child.tag == 'site' and child.get('name'):
                self.defaults.fill(child, inherited)
                R_s, p_s = self.frames.read(child)
                self.sites[child.get('name')] = body, R @ R_s, p + R @ p_s

    def _body(self, element, parent, inherited, offset):
        inherited = element.get('childclass', inherited)
        name = element.get('name') or f'body_{len(self.links)}'
        self.reader.remember('link', name, element)
        R, p = self.frames.read(element)
        R, p = offset[0] @ R, offset[1] + offset[0] @ p
        R_0, p_0 = self.at_start[parent]
        self.at_start[name] = R_0 @ R, p_0 + R_0 @ p
        shapes = self._shapes(element, inherited)
        self.links.append(
            Link(name, self._inertia(element, shapes), visuals=tuple(each[1] for each in shapes))
        )
        self._joints(element, parent, name, inherited, (R, p))
        self._contents(element, name, inherited, (np.eye(3), np.zeros(3)))

    def _shapes(self, body, inherited):
        shapes = []
        for geom in body.findall('geom'):
            self.defaults.fill(geom, inherited)
            read = read_shape(self.frames, geom, self.meshes)
            if read:
                shapes.append((geom, *read))
        return shapes

    def _inertia(self, body, shapes):
        inertial = body.find('inertial')
        if inertial is None or self.frames.from_geometry == 'true':
            if any(geom.get('mesh') for geom in body.findall('geom')):
                self.reader.note(
                    f'The body {body.get("name")!r} has no <inertial>, and the '
                    'mass of its meshes is not computed; they count as massless.'
                )
            return inertia_of_shapes(self.frames, shapes)
        reader = self.reader
        R, p = self.frames.read(inertial)
        if inertial.get('fullinertia') is not None:
            xx, yy, zz, xy, xz, yz = reader.numbers(inertial, 'fullinertia', count=6)
            tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        else:
            tensor = np.diag(reader.numbers(inertial, 'diaginertia', (0.0, 0.0, 0.0), count=3))
        return Inertia(
            reader.number(inertial, 'mass', least=0.0),
            Pose(tuple(map(float, p))),
            upper_triangle(R @ tensor @ R.T),
        )

    # --- joints -----------------------------------------------------------------------------
    def _joints(self, body, parent, name, inherited, placement):
        """Put the joints of a body one after the other, with massless links between them."""
        R, p = placement
        elements = list(body.iterchildren('joint', 'freejoint'))
        if not elements:
            self.joints.append(
                Joint(f'{name}_fixed', JointType.FIXED, parent, name, pose_of(R, p))
            )
            return
        moved = np.zeros(3)  # where the frame stands in the body, at the joint before
        for count, element in enumerate(elements):
            self.defaults.fill(element, inherited)
            joint, anchor, turned, shift = self._joint(element, f'{name}_joint{count or ""}')
            last = count == len(elements) - 1
            child = name if last and not anchor.any() else f'{joint.name}_frame'
            origin = pose_of(R @ turned, p + R @ (anchor - moved + shift))
            if joint.type is JointType.FLOATING:
                origin = Pose()  # its position is that of the body in the world
            self.joints.append(
                Joint(
                    joint.name,
                    joint.type,
                    parent,
                    child,
                    origin,
                    joint.axis,
                    joint.limit,
                    joint.dynamics,
                )
            )
            if child != name:
                self.links.append(Link(child))
            parent, R, p, moved = child, np.eye(3), np.zeros(3), anchor
            self._note_start(joint, placement)
        if parent != name:  # the last anchor is not the body's origin
            self.joints.append(
                Joint(f'{name}_fixed', JointType.FIXED, parent, name, pose_of(np.eye(3), -moved))
            )

    def _joint(self, element, default_name):
        """Return a joint without ends, its anchor in the body, its turn and shift at qpos = 0."""
        reader = self.reader
        name = element.get('name') or default_name
        reader.remember('joint', name, element)
        text = 'free' if element.tag == 'freejoint' else element.get('type', 'hinge')
        if text not in JOINT_TYPES:
            raise reader.error(
                element, f'{text!r} is no type of joint', f'Write one of {", ".join(JOINT_TYPES)}.'
            )
        kind, hinge = JOINT_TYPES[text], text == 'hinge'
        anchor = (
            np.array(reader.numbers(element, 'pos', (0.0, 0.0, 0.0), count=3))
            if text in ('hinge', 'ball')
            else np.zeros(3)
        )
        axis = reader.axis(element, 'axis', (0.0, 0.0, 1.0))
        scale = self.frames.angle if hinge else float
        reference = (
            scale(reader.number(element, 'ref', 0.0)) if text in ('hinge', 'slide') else 0.0
        )
        turned = turn(axis, -reference) if hinge else np.eye(3)
        shift = -reference * np.array(axis) if text == 'slide' else np.zeros(3)
        limit = self._limit(element, scale) if text in ('hinge', 'slide') else Limit()
        if hinge and not np.isfinite([limit.lower, limit.upper]).any():
            kind = JointType.CONTINUOUS
        stiffness = reader.number(element, 'stiffness', 0.0, least=0.0)
        if stiffness and text in ('hinge', 'slide'):
            self.springs.append(
                Spring(
                    f'{name}_spring',
                    'torsional',
                    stiffness,
                    joint=name,
                    rest=scale(reader.number(element, 'springref', 0.0)),
                )
            )
        if reader.number(element, 'armature', 0.0, least=0.0):
            self.armature.append(name)
        self.reference[name] = reference
        dynamics = Dynamics(
            reader.number(element, 'damping', 0.0, least=0.0),
            reader.number(element, 'frictionloss', 0.0, least=0.0),
        )
        joint = Joint(name, kind, '', '', axis=axis, limit=limit, dynamics=dynamics)
        return joint, anchor, turned, shift

    def _limit(self, element, scale):
        limited = element.get('limited', 'auto')
        if (
            element.get('range') is None
            or limited == 'false'
            or (limited == 'auto' and not self.frames.autolimits)
        ):
            return Limit()
        lower, upper = self.reader.numbers(element, 'range', count=2)
        if lower > upper:
            raise self.reader.error(
                element, f'range goes from {lower:g} down to {upper:g}', 'Swap the two numbers.'
            )
        return Limit(scale(lower), scale(upper))

    def _note_start(self, joint, placement):
        """Keep the position that MuJoCo starts from, as an assembly writes it."""
        if joint.type is JointType.FLOATING:
            R, p = placement
            self.reference[joint.name] = (*map(float, p), *_quaternion_of(R))
        elif joint.type is JointType.SPHERICAL:
            self.reference[joint.name] = (0.0, 0.0, 0.0, 1.0)

    # --- equality, actuators, poses ------------------------------------------------------------
    def equalities(self):
        """Return loops and couplings."""
        loops, couplings = [], []
        for group in self.root.findall('equality'):
            for element in group.iterchildren('{*}*'):
                self.defaults.fill(element, '')
                if element.tag in ('connect', 'weld'):
                    loops.append(self._loop(element))
                elif element.tag == 'joint':
                    couplings.append(self._coupling(element))
                else:
                    self.reader.note(f'The equality <{element.tag}> is left out.')
        return tuple(loops), tuple(couplings)

    def _loop(self, element):
        reader, welded = self.reader, element.tag == 'weld'
        if element.get('site1') is not None:
            (body_1, R_1, p_1), (body_2, R_2, p_2) = (
                self._known('site', element, key, self.sites) for key in ('site1', 'site2')
            )
        else:
            body_1 = self._body_name(element, 'body1')
            body_2 = self._body_name(element, 'body2', WORLD)
            anchor = np.array(reader.numbers(element, 'anchor', (0.0, 0.0, 0.0), count=3))
            (R_a, p_a), (R_b, p_b) = self.at_start[body_1], self.at_start[body_2]
            relative, between = R_b.T @ R_a, R_b.T @ (p_a - p_b)
            if welded and any(reader.numbers(element, 'relpose', (0.0,) * 7, count=7)[3:]):
                *shift, w, x, y, z = reader.numbers(element, 'relpose', count=7)
                R = rotation((w, x, y, z))
                relative, between = R.T, -R.T @ np.array(shift)
            if welded:  # its anchor is in body 2, and body 1 has the matching frame
                R_2, p_2 = np.eye(3), anchor
                R_1, p_1 = relative.T, relative.T @ (anchor - between)
            else:
                R_1, p_1 = np.eye(3), anchor
                R_2, p_2 = relative, between + relative @ anchor
        name = element.get('name') or f'{body_1}_{body_2}'
        reader.remember('loop', name, element)
        return LoopJoint(
            name,
            LoopType.FIXED if welded else LoopType.SPHERICAL,
            body_1,
            body_2,
            pose_of(R_1, p_1),
            pose_of(R_2, p_2),
            active=reader.boolean(element, 'active', True),
        )

    def _body_name(self, element, key, default=None):
        name = self.reader.text(element, key, default)
        if name not in self.at_start:
            raise NameNotFound(
                'body',
                name,
                self.at_start,
                file=self.reader.label,
                where=self.reader.place(element),
            )
        return name

    def _known(self, kind, element, key, table):
        name = self.reader.text(element, key)
        if name not in table:
            raise NameNotFound(
                kind, name, table, file=self.reader.label, where=self.reader.place(element)
            )
        return table[name]

    def _coupling(self, element):
        """Return joint1 - ref1 = sum of c_k (joint2 - ref2)^k as a coupling."""
        reader = self.reader
        ref_1 = self._known('joint', element, 'joint1', self.reference)
        first = element.get('joint1')
        given = reader.numbers(element, 'polycoef', (0.0, 1.0, 0.0, 0.0, 0.0), most=5)
        name = element.get('name') or f'{first}_equality'
        reader.remember('coupling', name, element)
        terms, constant = [CouplingTerm(first, (1.0,))], -ref_1 - given[0]
        if element.get('joint2') is not None:
            ref_2 = self._known('joint', element, 'joint2', self.reference)
            shifted = np.polynomial.Polynomial([0.0, *given[1:]])(
                np.polynomial.Polynomial([-ref_2, 1.0])
            ).coef
            constant -= shifted[0]
            powers = np.trim_zeros(-shifted[1:], 'b')
            if len(powers):
                terms.append(CouplingTerm(element.get('joint2'), tuple(map(float, powers))))
        return Coupling(
            name,
            tuple(terms),
            constant=float(constant) + 0.0,
            active=reader.boolean(element, 'active', True),
        )

    def motors(self):
        """Return (joint, place) pairs, and write what the motors can do into the joints."""
        found = []
        for group in self.root.findall('actuator'):
            for element in group.iterchildren('{*}*'):
                self.defaults.fill(element, '')
                joint = element.get('joint', element.get('jointinparent'))
                if joint is None or element.tag in NOT_A_MOTOR:
                    self.reader.note(
                        f'The actuator {element.get("name", element.tag)!r} does not '
                        'act on a joint and is left out.'
                    )
                    continue
                self._known(
                    'joint',
                    element,
                    'joint' if element.get('joint') else 'jointinparent',
                    self.reference,
                )
                found.append((joint, self.reader.place(element)))
                self._set_effort(element, joint)
        return tuple(found)

    def _set_effort(self, element, name):
        numbers = self.reader.numbers
        gear = abs(numbers(element, 'gear', (1.0,), most=6)[0])
        if element.get('forcerange') is not None:
            effort = max(map(abs, numbers(element, 'forcerange', count=2))) * gear
        elif element.tag == 'motor' and element.get('ctrlrange') is not None:
            effort = max(map(abs, numbers(element, 'ctrlrange', count=2))) * gear
        else:
            return
        for i, joint in enumerate(self.joints):
            if joint.name == name:
                limit = Limit(joint.limit.lower, joint.limit.upper, effort)
                self.joints[i] = Joint(
                    name,
                    joint.type,
                    joint.parent,
                    joint.child,
                    joint.origin,
                    joint.axis,
                    limit,
                    joint.dynamics,
                )

    def assemblies(self):
        """Return MuJoCo's pose at the start and its keyframes."""
        moving = [joint for joint in self.joints if joint.type is not JointType.FIXED]
        poses = [
            Assembly('qpos0', tuple((joint.name, self.reference[joint.name]) for joint in moving))
        ]
        for key in self.root.iterfind('keyframe/key'):
            if key.get('qpos') is None:
                continue
            values = list(self.reader.numbers(key, 'qpos', most=10_000))
            if len(values) != sum(joint.type.nq for joint in moving):
                raise self.reader.error(
                    key,
                    f'qpos has {len(values)} numbers, but the joints take '
                    f'{sum(joint.type.nq for joint in moving)}',
                    'Write one for each.',
                )
            positions = []
            for joint in moving:
                own, values = values[: joint.type.nq], values[joint.type.nq :]
                positions.append(
                    (joint.name, own[0] if len(own) == 1 else (*own[:-4], *quaternion(own[-4:])))
                )
            poses.append(Assembly(key.get('name', f'key_{len(poses) - 1}'), tuple(positions)))
        return tuple(poses) if moving else ()

    def say_what_is_left_out(self):
        """Note what the file states and the description has no place for."""
        if self.armature:
            self.reader.note(
                'The armature (inertia of the rotors) is left out: '
                f'{", ".join(self.armature[:6])}'
                f'{" and others" if len(self.armature) > 6 else ""}.'
            )
        for tag in ('tendon', 'contact', 'deformable'):
            if self.root.find(tag) is not None:
                self.reader.note(f'What <{tag}> says is left out.')


def _meshes(reader, root, path):
    """Return the meshes among the assets by name, with paths as seen from here."""
    compiler = {}
    for element in root.findall('compiler'):
        compiler.update(element.attrib)
    folder = Path(path).parent if path else Path()
    folder /= compiler.get('meshdir', compiler.get('assetdir', ''))
    meshes = {}
    for mesh in root.iterfind('asset/mesh'):
        file = mesh.get('file')
        if file:
            meshes[mesh.get('name') or Path(file).stem] = Geometry(
                'mesh',
                (),
                str(folder / file),
                reader.numbers(mesh, 'scale', (1.0, 1.0, 1.0), count=3),
            )
    return meshes


def _quaternion_of(R):
    """Return x y z w of a rotation."""
    from scipy.spatial.transform import Rotation

    return tuple(map(float, Rotation.from_matrix(R).as_quat()))
