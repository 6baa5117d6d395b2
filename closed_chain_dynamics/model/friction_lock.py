"""What is said of a mechanism that friction locks, whoever finds it."""

from typing import TYPE_CHECKING

from closed_chain_dynamics.errors import StructureError
from closed_chain_dynamics.kernels import records as at

if TYPE_CHECKING:
    from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['locked_error']


def locked_error(robot: 'Mechanism', when: str = '') -> StructureError:
    """Return the error that friction locks a mechanism (the frictional paradox)."""
    names = ', '.join(
        repr(name)
        for name, loop in zip(robot.loop_names, robot.structure.loops)
        if loop['active'] and loop['mode'] == at.SLIDE
    )
    return StructureError(
        f'friction locks the contact {names}{when}: the coefficient A of the normal force is not '
        'positive (frictional paradox), no finite force fits the motion',
        where=robot.name,
        repair='Less friction, or another pose, lets it move on.',
    )
