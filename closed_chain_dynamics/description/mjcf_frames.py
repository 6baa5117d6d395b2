"""What MJCF says about one element: defaults by class, angles, frames, and inertia of shapes."""

import math

import numpy as np

from closed_chain_dynamics.description.elements import Geometry, Inertia, Pose, Shape

__all__ = [
    'Defaults',
    'Frames',
    'inertia_of_shapes',
    'pose_of',
    'quaternion',
    'read_shape',
    'rotation',
    'turn',
    'upper_triangle',
]

DENSITY = 1000.0  # of a shape that states neither mass nor density [kg/m^3]
TURNS = {'x': 0, 'y': 1, 'z': 2}


class Defaults:
    """Attributes that classes give to elements that do not write them."""

    def __init__(self, root):
        self.classes = {}
        for element in root.findall('default'):
            self._collect(element, element.get('class', 'main'), {})

    def _collect(self, element, name, above):
        own = {tag: dict(values) for tag, values in above.items()}
        for child in element.iterchildren('{*}*'):
            if child.tag != 'default':
                own.setdefault(child.tag, {}).update(child.attrib)
        self.classes.setdefault(name, {}).update(own)
        for child in element.findall('default'):
            self._collect(child, child.get('class', ''), own)

    def fill(self, element, inherited):
        """Write the defaults of an element's class into it."""
        name = element.get('class', inherited or 'main')
        for key, value in self.classes.get(name, {}).get(element.tag, {}).items():
            if key != 'class' and element.get(key) is None:
                element.set(key, value)


class Frames:
    """Reads where an element stands, in the units and conventions of <compiler>."""

    def __init__(self, reader, root):
        self.reader = reader
        options = {}
        for element in root.findall('compiler'):
            options.update(element.attrib)
        self.degrees = options.get('angle', 'degree') == 'degree'
        self.sequence = options.get('eulerseq', 'xyz')
        self.autolimits = options.get('autolimits', 'true') == 'true'
        self.from_geometry = options.get('inertiafromgeom', 'auto')

    def angle(self, value):
        """Return an angle of the file in radians."""
        return math.radians(value) if self.degrees else value

    def read(self, element):
        """Return rotation (3, 3) and position (3,) that pos and an orientation state."""
        position = np.array(self.reader.numbers(element, 'pos', (0.0, 0.0, 0.0), count=3))
        return self._rotation(element), position

    def _rotation(self, element):
        numbers = self.reader.numbers
        if element.get('quat') is not None:
            return rotation(numbers(element, 'quat', count=4))
        if element.get('axisangle') is not None:
            *axis, angle = numbers(element, 'axisangle', count=4)
            return turn(axis, self.angle(angle))
        if element.get('euler') is not None:
            R = np.eye(3)
            for letter, angle in zip(self.sequence, numbers(element, 'euler', count=3)):
                step = turn(np.eye(3)[TURNS[letter.lower()]], self.angle(angle))
                R = R @ step if letter.islower() else step @ R
            return R
        if element.get('xyaxes') is not None:
            values = np.array(numbers(element, 'xyaxes', count=6))
            x = values[:3] / np.linalg.norm(values[:3])
            y = values[3:] - x * (x @ values[3:])
            y /= np.linalg.norm(y)
            return np.column_stack([x, y, np.cross(x, y)])
        if element.get('zaxis') is not None:
            return _along(numbers(element, 'zaxis', count=3))
        return np.eye(3)


def turn(axis, angle):
    """Return the rotation about an axis."""
    x, y, z = np.asarray(axis, dtype=float) / np.linalg.norm(axis)
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + math.sin(angle) * K + (1.0 - math.cos(angle)) * K @ K


def _along(direction):
    """Return the least rotation that brings z into a direction."""
    z = np.asarray(direction, dtype=float) / np.linalg.norm(direction)
    axis = np.cross([0.0, 0.0, 1.0], z)
    if np.linalg.norm(axis) < 1e-12:
        return np.eye(3) if z[2] > 0.0 else np.diag([1.0, -1.0, -1.0])
    return turn(axis, math.atan2(np.linalg.norm(axis), z[2]))


def rotation(wxyz):
    """Return the rotation matrix of a quaternion as MuJoCo writes it."""
    x, y, z, w = quaternion(wxyz)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def quaternion(wxyz):
    """Return MuJoCo's quaternion as x y z w of length one."""
    w, x, y, z = np.asarray(wxyz, dtype=float) / np.linalg.norm(wxyz)
    return float(x), float(y), float(z), float(w)


def pose_of(R, p):
    """Return the Pose of a rotation and a position."""
    level = math.hypot(R[0, 0], R[1, 0])
    pitch = math.atan2(-R[2, 0], level)
    if level > 1e-9:
        roll, yaw = math.atan2(R[2, 1], R[2, 2]), math.atan2(R[1, 0], R[0, 0])
    else:  # straight up or down: only the sum or the difference of roll and yaw counts
        roll, yaw = math.atan2(-R[1, 2], R[1, 1]), 0.0
    return Pose(tuple(float(each) + 0.0 for each in p), (roll + 0.0, pitch + 0.0, yaw + 0.0))


def read_shape(frames, geom, meshes):
    """
    Return a geom as (Shape to look at, solid Geometry or None, R, p), or None for no body.

    `meshes` are Geometries by name; a mesh has no mass here.
    """
    reader = frames.reader
    kind = geom.get('type', 'mesh' if geom.get('mesh') else 'sphere')
    R, p = frames.read(geom)
    rgba = reader.numbers(geom, 'rgba', (0.5, 0.5, 0.5, 1.0), count=4)
    name = geom.get('name', '')
    if kind == 'mesh':
        mesh = meshes.get(geom.get('mesh'))
        return mesh and (Shape(mesh, pose_of(R, p), rgba, name=name), None, R, p)
    if kind not in ('box', 'sphere', 'capsule', 'cylinder', 'ellipsoid'):
        return None
    size = list(reader.numbers(geom, 'size', (0.0,), most=3))
    if geom.get('fromto') is not None:
        ends = np.array(reader.numbers(geom, 'fromto', count=6))
        R, p = _along(ends[3:] - ends[:3]), 0.5 * (ends[:3] + ends[3:])
        size = [size[0], 0.5 * float(np.linalg.norm(ends[3:] - ends[:3]))]
    # MuJoCo writes halves, URDF whole lengths
    given = {
        'box': tuple(2.0 * each for each in size),
        'sphere': (size[0],),
        'capsule': (size[0], 2.0 * size[-1]),
        'cylinder': (size[0], 2.0 * size[-1]),
        'ellipsoid': tuple(size),
    }[kind]
    solid = shown = Geometry(kind, given)
    if kind == 'ellipsoid':  # URDF has none: show a ball of its volume
        shown = Geometry('sphere', (float(np.prod(size)) ** (1.0 / 3.0),))
    return Shape(shown, pose_of(R, p), rgba, name=name), solid, R, p


def inertia_of_shapes(frames, shapes):
    """Return the Inertia of [(geom element, Shape, solid, R, p)], or None without a solid."""
    parts = []
    for geom, _, solid, R, p in shapes:
        if solid is None:
            continue
        volume, moments = _solid(solid)
        mass = frames.reader.number(
            geom,
            'mass',
            volume * frames.reader.number(geom, 'density', DENSITY, least=0.0),
            least=0.0,
        )
        parts.append((mass, p, R @ np.diag(moments) @ R.T * mass))
    total = sum(mass for mass, _, _ in parts)
    if not parts or total <= 0.0:
        return None
    center = sum(mass * p for mass, p, _ in parts) / total
    tensor = np.zeros((3, 3))
    for mass, p, about_own in parts:
        arm = p - center
        tensor += about_own + mass * ((arm @ arm) * np.eye(3) - np.outer(arm, arm))
    return Inertia(float(total), Pose(tuple(map(float, center))), upper_triangle(tensor))


def upper_triangle(tensor):
    """Return ixx, ixy, ixz, iyy, iyz, izz."""
    return tuple(float(tensor[pair]) for pair in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)))


def _solid(geometry):
    """Return the volume and the principal moments per unit of mass of a solid."""
    if geometry.kind == 'box':
        x, y, z = geometry.size
        return x * y * z, np.array([y * y + z * z, x * x + z * z, x * x + y * y]) / 12.0
    if geometry.kind == 'ellipsoid':
        a, b, c = geometry.size
        return 4.0 / 3.0 * math.pi * a * b * c, np.array(
            [b * b + c * c, a * a + c * c, a * a + b * b]
        ) / 5.0
    r = geometry.size[0]
    ball, ball_moment = 4.0 / 3.0 * math.pi * r**3, 0.4 * r * r
    if geometry.kind == 'sphere':
        return ball, np.full(3, ball_moment)
    h = geometry.size[1]
    tube = math.pi * r * r * h
    across, along = (3.0 * r * r + h * h) / 12.0, 0.5 * r * r
    if geometry.kind == 'cylinder':
        return tube, np.array([across, across, along])
    # a capsule: two half balls, each with its centre of mass 3r/8 beyond the end of the tube
    share = ball / (ball + tube)
    cap = ball_moment + 0.25 * h * h + 0.375 * r * h
    across = (1.0 - share) * across + share * cap
    along = (1.0 - share) * along + share * ball_moment
    return ball + tube, np.array([across, across, along])
