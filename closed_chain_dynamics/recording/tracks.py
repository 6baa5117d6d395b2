"""Where links, loop joints and cut joints were in every sample of a log."""

import numpy as np

from closed_chain_dynamics.dynamics.tree import body_placements
from closed_chain_dynamics.model.changes import cut_joints

__all__ = ['link_tracks', 'loop_tracks']


def _body_tracks(robot, configurations):
    """Return rotations (samples, bodies, 3, 3) and positions (samples, bodies, 3)."""
    bodies = np.empty((len(configurations), len(robot.model.bodies), 12))
    for sample, q in enumerate(configurations):
        bodies[sample] = body_placements(robot, q)
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
    Return both ends of each loop joint and of each tree joint that is cut.

    A list of (whether it is closed, end on the parent, end on the child); `tracks` are those of
    the links, and the ends are (samples, 3) in the world [m].
    """
    apart = cut_joints(robot)
    ends = []
    for loop in robot.description.loops:
        ends.append(
            (
                robot.is_connected(loop.name),
                _point(tracks[loop.parent], loop.parent_origin),
                _point(tracks[loop.child], loop.child_origin),
            )
        )
    for joint in robot.description.joints:
        if joint.name in apart:
            ends.append(
                (False, _point(tracks[joint.parent], joint.origin), tracks[joint.child][1])
            )
    return ends


def _point(track, origin):
    rotations, positions = track
    return positions + rotations @ origin.position
