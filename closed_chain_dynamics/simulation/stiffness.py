"""What of a mechanism is stiffest: the spring, limit or damper that asks for small steps."""

from collections.abc import Iterator

import numpy as np

from closed_chain_dynamics.description import Spring
from closed_chain_dynamics.dynamics.bounded_forces import Responses
from closed_chain_dynamics.dynamics.constraints import loop_jacobian
from closed_chain_dynamics.dynamics.tree import jacobian, link_placement
from closed_chain_dynamics.model.mechanism import Mechanism, Vector

__all__ = ['stiffest']

Found = tuple[str, Vector, float, float]  # what, row, stiffness, damping


def stiffest(robot: Mechanism, q: Vector) -> str:
    """Return a sentence that names the spring or joint whose motion is fastest, and how fast."""
    found = list(_laws(robot, q))
    if not found:
        return 'nothing has a spring or damping; a torque or wrench changes too fast'
    answer = Responses.of(robot, q, np.array([row for _, row, _, _ in found]))
    inverse_inertia = np.einsum('ij,ij->j', answer.root, answer.root)
    stiffness = np.array([each[2] for each in found]) * inverse_inertia
    damping = np.array([each[3] for each in found]) * inverse_inertia
    rates = np.maximum(np.sqrt(stiffness), damping)
    k = int(np.argmax(rates))
    what = found[k][0]
    if damping[k] >= np.sqrt(stiffness[k]):
        return f'the damping of {what} stops it within {1.0 / rates[k]:.2g} s'
    return f'{what} swings with {rates[k]:.3g} rad/s'


def _laws(robot: Mechanism, q: Vector) -> Iterator[Found]:
    """Return everything that pulls a coordinate back or damps it."""
    units, L = np.eye(robot.nv), loop_jacobian(robot, q)
    for names, rows, laws in (
        (robot.coordinate_names, units, robot.structure.dofs),
        (robot.loop_coordinate_names, L, robot.structure.loop_dofs),
    ):
        for name, row, law in zip(names, rows, laws):
            stiffness, damping = float(law['stop_stiffness']), float(law['damping'])
            if stiffness or damping or law['stop_damping']:
                yield f'joint {name!r}', row, stiffness, damping + float(law['stop_damping'])
    for spring in robot.description.springs:
        if spring.joint in robot.coordinate_names:
            row = units[robot.coordinate_names.index(spring.joint)]
        elif spring.joint in robot.loop_coordinate_names:
            row = L[robot.loop_coordinate_names.index(spring.joint)]
        elif spring.joint:
            continue  # its joint has been cut
        else:
            row = _between(robot, q, spring)
        yield f'spring {spring.name!r}', row, spring.stiffness, spring.damping


def _between(robot: Mechanism, q: Vector, spring: Spring) -> Vector:
    """Return the rate of a spring's length by velocity, (nv,)."""
    ends = []
    for link, xyz in ((spring.from_link, spring.from_xyz), (spring.to_link, spring.to_xyz)):
        place = link_placement(robot, q, link)
        rates = jacobian(robot, q, link, point=xyz)[:3]
        ends.append((place[:3, :3] @ xyz + place[:3, 3], rates))
    (p_1, J_1), (p_2, J_2) = ends
    length = float(np.linalg.norm(p_2 - p_1))
    row: Vector = (p_2 - p_1) @ (J_2 - J_1) / max(length, 1e-300)
    return row
