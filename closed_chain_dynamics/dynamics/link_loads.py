"""What acts on single links apart from joints: inertia, weight, springs and external wrenches."""

from dataclasses import dataclass

import numpy as np

from closed_chain_dynamics import kernels
from closed_chain_dynamics.kernels import layout as at
from closed_chain_dynamics.kernels.passive import joint_force

__all__ = ['LinkLoads', 'cross', 'link_loads', 'loop_efforts']

NO_DIRECTION = 1e-12  # a spring shorter than this has none, and no force [m]


@dataclass
class LinkLoads:
    """
    Arrays over the links of a mechanism, parents first; all in world axes.

    Points are measured from O, which rides along, so that far from the world's origin no digits
    are lost.
    """

    index: dict  # link name -> row
    parent: np.ndarray  # row of the parent link, -1 for the root
    rotation: np.ndarray  # (n, 3, 3)
    point: np.ndarray  # origin of the link, (n, 3)
    com: np.ndarray  # centre of mass, (n, 3)
    force: np.ndarray  # that the motion needs, less the weight, (n, 3)
    moment: np.ndarray  # the same about the centre of mass, (n, 3)
    external: list  # (row, point, wrench (6,)) of every force from outside and spring
    origin: np.ndarray  # where O is in the world, (3,)
    size: float  # the largest weight or inertial force, which may cancel in `force`


def cross(a, b):
    """Return the vector product along the last axis; numpy's own takes ten times as long."""
    a, b = np.asarray(a), np.asarray(b)
    return np.stack(
        [
            a[..., 1] * b[..., 2] - a[..., 2] * b[..., 1],
            a[..., 2] * b[..., 0] - a[..., 0] * b[..., 2],
            a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0],
        ],
        axis=-1,
    )


def link_loads(robot, q, v, a, wrenches=None):
    """
    Return the LinkLoads of a motion: Newton's and Euler's equations of every link on its own.

    q, v, a: of the tree; `wrenches`: {link: (6,)} in world axes at the link origin.
    """
    R, point, V, A = _link_motion(robot, q, v, a)
    mass, arm, tensor = _inertias(robot)
    arm = np.einsum('nij,nj->ni', R, arm)
    tensor = R @ tensor @ R.transpose(0, 2, 1)
    omega, alpha = V[:, 3:], A[:, 3:]
    linear = A[:, :3] + cross(alpha, arm) + cross(omega, cross(omega, arm))
    spin = np.einsum('nij,nj->ni', tensor, omega)
    index = {name: k for k, name in enumerate(robot.link_names)}
    parent = np.full(len(index), -1)
    for joint in robot.description.joints:
        parent[index[joint.child]] = index[joint.parent]
    size = mass * np.maximum(np.linalg.norm(linear, axis=1), np.linalg.norm(robot.gravity))
    loads = LinkLoads(
        index,
        parent,
        R,
        point,
        point + arm,
        mass[:, None] * (linear - robot.gravity),
        np.einsum('nij,nj->ni', tensor, alpha) + cross(omega, spin),
        [],
        robot.table(at.WORLD_W)[0, at.ORIGIN : at.ORIGIN + 3].copy(),
        float(size.max()),
    )
    for link, wrench in (wrenches or {}).items():
        k = index[link]
        loads.external.append((k, point[k], robot.vector(wrench, 6, f'wrench on link {link!r}')))
    _add_springs(robot, loads, V)
    _add_soft_contacts(robot, loads)
    return loads


def _link_motion(robot, q, v, a):
    """Return rotation, origin, velocity and classical acceleration of every link at its origin."""
    bodies = np.empty((robot.mi[at.N_BODIES], 12))
    status = kernels.compute_motion(robot.mi, robot.mf, robot.w, q, v, a, bodies)
    if status:
        robot.raise_for(status, q, v, a)
    frames = [robot.link_frame(name) for name in robot.link_names]
    body = [frame[0] for frame in frames]
    place = robot.table(at.BODY_W)[body]
    R_body = place[:, at.R : at.R + 9].reshape(-1, 3, 3)
    arm = np.einsum('nij,nj->ni', R_body, np.array([frame[2] for frame in frames]))
    point = place[:, at.P : at.P + 3] + arm
    V, A = bodies[body, :6], bodies[body, 6:]
    V[:, :3] += cross(V[:, 3:], arm)
    # A is the rate of V at a point that rests; the link's own point moves on with V
    A[:, :3] += cross(A[:, 3:], arm) + cross(V[:, 3:], V[:, :3])
    return R_body @ np.array([frame[1] for frame in frames]), point, V, A


def _inertias(robot):
    """Return masses (n,), centres of mass (n, 3) and inertias about them (n, 3, 3), link axes."""
    names = robot.link_names
    mass, arm, tensor = (
        np.zeros(len(names)),
        np.zeros((len(names), 3)),
        np.zeros((len(names), 3, 3)),
    )
    inertias = {link.name: link.inertia for link in robot.description.links}
    for k, name in enumerate(names):
        if inertias[name] is not None:
            mass[k], arm[k] = inertias[name].mass, inertias[name].origin.xyz
            tensor[k] = inertias[name].tensor
    return mass, arm, tensor


def _add_springs(robot, loads, V):
    """Add the forces of springs between two points to both of their links."""
    for spring in robot.description.springs:
        if spring.type != 'linear':
            continue
        ends, rates = [], []
        for link, xyz in ((spring.from_link, spring.from_xyz), (spring.to_link, spring.to_xyz)):
            k = loads.index[link]
            arm = loads.rotation[k] @ np.array(xyz)
            ends.append((k, loads.point[k] + arm))
            rates.append(V[k, :3] + cross(V[k, 3:], arm))
        way = ends[1][1] - ends[0][1]
        length = np.linalg.norm(way)
        if length < NO_DIRECTION:
            continue
        way = way / length
        pull = spring.stiffness * (length - spring.rest) + spring.damping * (
            way @ (rates[1] - rates[0])
        )
        for (k, point), sign in zip(ends, (1.0, -1.0)):
            loads.external.append((k, point, np.concatenate([sign * pull * way, np.zeros(3)])))


def _add_soft_contacts(robot, loads):
    """Add the forces of soft contacts, as the passive forces of this state left them."""
    for loop, kind, row in zip(
        robot.description.loops, robot.table(at.LOOP_I), robot.table(at.LOOP_W)
    ):
        if kind[at.LOOP_ACTIVE] and kind[at.LOOP_MODE] == at.SOFT:
            force = (
                row[at.FRICTION_FORCE : at.FRICTION_FORCE + 3]
                + row[at.NORMAL_FORCE] * row[at.CONTACT_NORMAL : at.CONTACT_NORMAL + 3]
            )
            child = loads.index[loop.child]
            point = loads.point[child] + loads.rotation[child] @ loop.child_origin.position
            for link, sign in ((loop.child, 1.0), (loop.parent, -1.0)):
                loads.external.append(
                    (loads.index[link], point, np.concatenate([sign * force, np.zeros(3)]))
                )


def loop_efforts(robot, q, v, tau_A):
    """
    Return what motors and passive elements do along each coordinate of the loop joints.

    (loop coordinates,) [N m or N], on the child; of open loops too, where nobody feels it.
    """
    n = len(robot.loop_coordinate_names)
    L, positions = np.empty((n, robot.nv)), np.empty(n)
    kernels.compute_loop_jacobian(robot.mi, robot.mf, robot.w, q, v, L, positions)
    rates, laws = L @ v, robot.table(at.LOOP_DOF_F)
    efforts = np.zeros(n)
    for loop in robot.table(at.LOOP_I):
        limited = loop[at.LOOP_N_DOFS] == 1
        for d in range(loop[at.LOOP_DOF], loop[at.LOOP_DOF] + loop[at.LOOP_N_DOFS]):
            efforts[d], _ = joint_force(laws[d], positions[d], rates[d], limited)
    for spring in robot.description.springs:
        if spring.joint in robot.loop_coordinate_names:
            d = robot.loop_coordinate_names.index(spring.joint)
            efforts[d] -= (
                spring.stiffness * (positions[d] - spring.rest) + spring.damping * rates[d]
            )
    for (on_loop, d), torque in zip(robot.table(at.ACTUATOR_I), tau_A):
        if on_loop:
            efforts[d] += torque
    return efforts
