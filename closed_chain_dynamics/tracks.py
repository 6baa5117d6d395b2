"""Where links and loop joints were in every sample of a log."""

import numpy as np

from .kernels import layout as at
from .tree_dynamics import _body_placements

__all__ = ['link_tracks', 'loop_tracks']


def _body_tracks(robot, configurations):
    """Return rotations (samples, bodies, 3, 3) and positions (samples, bodies, 3)."""
    bodies = np.empty((len(configurations), robot.mi[at.N_BODIES], 12))
    for sample, q in enumerate(configurations):
        bodies[sample] = _body_placements(robot, q)
    return bodies[..., :9].reshape(*bodies.shape[:2], 3, 3), bodies[..., 9:]


def _moved(tracks, body, R, p):
    rotations, positions = tracks
    return rotations[:, body] @ R, positions[:, body] + rotations[:, body] @ p


def link_tracks(robot, configurations):
    """Return placements in the world, {link: (rotations (samples, 3, 3), positions (.., 3))}."""
    tracks = _body_tracks(robot, configurations)
    return {link: _moved(tracks, *robot.link_frame(link)) for link in robot.link_names}


def loop_tracks(robot, tracks):
    """
    Return where both ends of each loop joint are, {loop: (on the parent, on the child)}.

    `tracks` are those of the links; both ends are (samples, 3) in the world [m].
    """
    ends = {}
    for loop in robot.description.loops:
        ends[loop.name] = tuple(
            tracks[link][1] + tracks[link][0] @ origin.position
            for link, origin in ((loop.parent, loop.parent_origin),
                                 (loop.child, loop.child_origin)))
    return ends
