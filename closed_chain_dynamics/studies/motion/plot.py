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

"""A figure of the torques that a motion needs."""

from collections.abc import Callable, Sequence
from functools import partial
import math
from typing import Any

import numpy as np

from closed_chain_dynamics.recording.log_files import Path
from closed_chain_dynamics.recording.panels import Column, Panel, draw_lines, draw_panels
from closed_chain_dynamics.recording.segments import position_names
from closed_chain_dynamics.studies.motion.torques import MotionTorques

__all__ = ['plot_torques']

IN_SIGHT = 1.6  # a limit that is further off than this share of the largest torque is not drawn


def plot_torques(
    found: MotionTorques,
    path: Path | None = None,
    *,
    size: tuple[float, float] = (9.0, 8.0),
    dpi: int = 130,
) -> Any:
    """
    Return a figure of MotionTorques: motion, torques and their limits, residuals, power.

    Where a path is given it is written as well.
    """
    time, robot = found.motion.time, found.robot
    slides = {
        joint.name for joint in robot.description.all_joints if joint.type.value == 'prismatic'
    }
    panels: list[Panel] = []
    drawn: Callable[[Any], object]
    for sliding, unit, title in (
        (False, 'angle [rad]', 'Joint angles'),
        (True, 'position [m]', 'Joint positions'),
    ):
        columns = [
            (name, values)
            for name, values in zip(position_names(robot), found.motion.q.T)
            if (name in slides or name.endswith((':x', ':y', ':z'))) == sliding
            and not name.endswith((':qx', ':qy', ':qz', ':qw', ':cos', ':sin'))
        ]
        if columns:
            drawn = partial(draw_lines, time=time, columns=columns, unit=unit, title=title)
            panels.append((drawn, 2.4))
    for sliding, unit, title in (
        (False, 'torque [N m]', 'Actuator torques tau_A'),
        (True, 'force [N]', 'Actuator forces tau_A'),
    ):
        columns = [
            (name, values)
            for name, values in zip(robot.actuator_names, found.tau_A.T)
            if (name in slides) == sliding
        ]
        if columns:
            drawn = partial(_torques, found=found, columns=columns, unit=unit, title=title)
            panels.append((drawn, 3))
    if found.unmet:
        columns = [(name, found.residual[name]) for name in found.unmet]
        panels.append(
            (
                lambda ax: draw_lines(
                    ax,
                    time,
                    columns,
                    '[N m or N]',
                    'What no actuator gives, by generalized coordinate',
                    'smaller',
                ),
                2,
            )
        )
    panels.append(
        (
            lambda ax: draw_lines(
                ax, time, [('all actuators', found.power)], 'power [W]', 'Power'
            ),
            1.8,
        )
    )

    def finish(axes: Sequence[Any]) -> None:
        for when in time[found.singular]:
            for ax in axes:
                ax.axvline(when, color='#c0392b', linewidth=0.8, alpha=0.5, zorder=1)

    return draw_panels(path, panels, time, robot.name, size=size, dpi=dpi, finish=finish)


def _torques(
    ax: Any, found: MotionTorques, columns: Sequence[Column], unit: str, title: str
) -> None:
    """Draw torques, and those of their limits that are near, as dashes of the same colour."""
    colours = draw_lines(ax, found.motion.time, columns, unit, title, 'with less change')
    limits = found.limits()
    for name, values in columns:
        limit = limits[name].effort
        if name in colours and math.isfinite(limit) and limit <= IN_SIGHT * np.abs(values).max():
            for side in (-limit, limit):
                ax.axhline(side, color=colours[name], linestyle=(0, (4, 2)), linewidth=0.9)
