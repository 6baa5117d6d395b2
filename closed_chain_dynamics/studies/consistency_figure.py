# Copyright 2026 the authors of closed_chain_dynamics
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""A figure of what a record says: loops, markers, ground."""

from functools import partial
from typing import Any

import numpy as np

from closed_chain_dynamics.recording.log_files import Path
from closed_chain_dynamics.recording.panels import Column, Panel, draw_lines, draw_panels
from closed_chain_dynamics.recording.segments import position_names
from closed_chain_dynamics.studies.consistency import Consistency
from closed_chain_dynamics.studies.figures import draw_errors

__all__ = ['plot_consistency']


def plot_consistency(found: Consistency, path: Path | None = None) -> Any:
    """
    Return a figure of a Consistency: the record and its loops, gaps, forces nobody gives.

    Where a path is given it is written as well.
    """
    time, robot = found.tracks.time, found.robot
    names = position_names(robot)
    measured = [
        each
        for joint, track in found.tracks.joints.items()
        for each in zip(names[robot.joint_slices(joint)[0]], track[0].T)
    ]
    panels: list[Panel] = [
        (partial(draw_lines, time=time, columns=measured, unit='[rad or m]', title='Record'), 3)
    ]
    if found.gaps:
        panels.append(
            (
                lambda ax: draw_errors(
                    ax,
                    time,
                    [(name, gap.max(axis=1)) for name, gap in found.gaps.items()],
                    'Gaps of the loops (dashed: tolerance)',
                    found.tolerance,
                ),
                2.4,
            )
        )
    if found.residual:
        panels.append(
            (
                partial(
                    draw_lines,
                    time=time,
                    columns=[(name, found.torques.residual[name]) for name in found.residual],
                    unit='[N m or N]',
                    title='Forces that nothing provides',
                ),
                2.4,
            )
        )
    panels += _marker_panels(found) + _ground_panels(found) + _nearest_panels(found)
    return draw_panels(path, panels, time, robot.name, size=(9.0, 1.5 + 2.6 * len(panels)))


def _marker_panels(found: Consistency) -> list[Panel]:
    """Return a panel of how far markers are from the model."""
    if found.markers is None:
        return []
    columns = [(name, 1e3 * errors) for name, errors in found.markers.errors.items()]
    drawn = partial(
        draw_lines, time=found.tracks.time, columns=columns, unit='[mm]',
        title='Markers: distance from where the model has them', hidden='nearer',
    )  # fmt: skip
    return [(drawn, 2.4)]


def _nearest_panels(found: Consistency) -> list[Panel]:
    """Return a panel of how far the nearest possible motion is."""
    if found.nearest is None:
        return []
    columns = [('largest of all joints', found.nearest.moved)]
    title = 'The nearest motion that is possible: change'
    return [
        (
            partial(
                draw_lines, time=found.tracks.time, columns=columns, unit='[rad or m]', title=title
            ),
            2.4,
        )
    ]


def _ground_panels(found: Consistency) -> list[Panel]:
    """Return panels of forces on the ground, of the zero-moment point and of what is not met."""
    forces, time = found.ground, found.tracks.time
    if forces is None:
        return []
    upwards = [
        ('needed', forces.needed[:, 2]),
        *(
            (each.name, forces.forces[:, i, 2])
            for i, each in enumerate(forces.ground.contacts)
        ),
    ]  # fmt: skip
    lines: list[tuple[list[Column], str, str]] = [
        (upwards, 'force [N]', 'Upward force of the ground'),
        (
            [('friction that is needed', forces.friction)],
            '',
            'Friction that the whole force asks for',
        ),
        (
            [('within the feet', forces.margin)],
            '[m]',
            'Zero-moment point: how far within the feet',
        ),
        ([('not met', 100.0 * forces.unmet)], '[% of weight]', 'What the ground cannot give'),
    ]
    return [
        (partial(draw_lines, time=time, columns=columns, unit=unit, title=title), 2.4)
        for columns, unit, title in lines
        if any(np.isfinite(values).any() for _, values in columns)
    ]
