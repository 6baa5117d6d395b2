"""What is said of a mechanism that friction locks, whoever finds it."""

from closed_chain_dynamics.errors import StructureError
from closed_chain_dynamics.kernels import layout as at

__all__ = ['locked_error']


def locked_error(robot, when=''):
    """Return the error that friction locks a mechanism (the frictional paradox)."""
    names = ', '.join(
        repr(loop.name)
        for loop, kind in zip(robot.description.loops, robot.table(at.LOOP_I))
        if kind[at.LOOP_ACTIVE] and kind[at.LOOP_MODE] == at.SLIDE
    )
    return StructureError(
        f'friction locks the contact {names}{when}: the coefficient A of the normal force is not '
        'positive (frictional paradox), no finite force fits the motion',
        where=robot.name,
        repair='Less friction, or another pose, lets it move on.',
    )
