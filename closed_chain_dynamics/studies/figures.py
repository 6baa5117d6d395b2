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

"""Figures of validity and of what if."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from closed_chain_dynamics.arrays import Array
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.recording.log_files import Path
from closed_chain_dynamics.recording.panels import Column, Panel, draw_lines, draw_panels
from closed_chain_dynamics.recording.segments import position_names
from closed_chain_dynamics.studies.validity import Validity
from closed_chain_dynamics.studies.what_if import Run, Variation
from closed_chain_dynamics.studies.what_if_report import run_label

__all__ = ['draw_errors', 'plot_validity', 'plot_what_if']


QUATERNION = (':qx', ':qy', ':qz', ':qw')  # how names of its components end
LOWEST = 1e-16  # errors below this have no place on a logarithmic axis


def draw_errors(
    ax: Any, time: Array, columns: Sequence[Column], title: str, tolerance: float
) -> None:
    """Draw errors, and the line that they should stay below."""
    draw_lines(
        ax,
        time,
        [(name, np.maximum(values, LOWEST)) for name, values in columns],
        '[rad or m]',
        title,
        'with smaller errors',
    )
    ax.axhline(tolerance, color='#c0392b', linestyle=(0, (4, 2)), linewidth=0.9)
    ax.set_yscale('log')


def plot_validity(found: Validity, path: Path | None = None) -> Any:
    """
    Return a figure of a Validity: the motion and what came back, errors, torques.

    Where a path is given it is written as well.
    """
    motion, robot = found.torques.motion, found.torques.robot
    time, names = motion.time, position_names(robot)

    turning = [name.endswith(QUATERNION) for name in names]

    def positions(ax: Any, of_quaternions: bool) -> None:
        shown = [each == of_quaternions for each in turning]
        came_back = dict(zip(names, found.q.T))
        colours = draw_lines(
            ax,
            time,
            [(name, values) for name, values, take in zip(names, motion.q.T, shown) if take],
            'quaternion' if of_quaternions else '[rad or m]',
            'Attitude (dashed: reproduced)' if of_quaternions else 'Motion (dashed: reproduced)',
        )
        for name, colour in colours.items():
            values = came_back[name]
            ax.plot(time, values, color=colour, linestyle=(0, (4, 2)), linewidth=0.9)

    panels: list[Panel] = []
    if not all(turning):
        panels.append((lambda ax: positions(ax, False), 3))
    if any(turning):  # numbers without a unit do not share an axis with angles and lengths
        panels.append((lambda ax: positions(ax, True), 2.4))
    panels += [
        (
            lambda ax: draw_errors(
                ax, time, [*found.errors.items()], 'Errors (dashed: tolerance)', found.tolerance
            ),
            2.4,
        )
    ]
    if robot.actuator_names:
        panels.append(
            (
                lambda ax: draw_lines(
                    ax,
                    time,
                    [*zip(robot.actuator_names, found.torques.tau_A.T)],
                    '[N m or N]',
                    'Applied torques',
                    'with less change',
                ),
                2.4,
            )
        )
    return draw_panels(path, panels, time, robot.name, size=(9.0, 8.0))


def plot_what_if(
    robot: Mechanism,
    variations: Sequence[Variation],
    runs: Sequence[Run],
    path: Path | None = None,
) -> Any:
    """
    Return a figure of Runs: one panel per number of a watched joint, all runs in each.

    Where a path is given it is written as well.
    """
    time = max((run.time for run in runs), key=lambda time: time[-1])
    panels: list[Panel] = []
    for joint in runs[0].series:
        for k in range(runs[0].series[joint].reshape(len(runs[0].time), -1).shape[1]):
            columns = [
                (
                    run_label(variations, run),
                    np.interp(
                        time,
                        run.time,
                        run.series[joint].reshape(len(run.time), -1)[:, k],
                        right=np.nan,
                    ),
                )
                for run in runs
            ]
            title = joint if runs[0].series[joint].ndim == 1 else f'{joint}, number {k + 1}'
            panels.append(
                (
                    partial(
                        draw_lines, time=time, columns=columns, unit='[rad or m]', title=title
                    ),
                    3,
                )
            )
    return draw_panels(path, panels, time, robot.name, size=(9.0, 1.5 + 3.0 * len(panels)))
