"""A figure of the torques that a motion needs."""

import math

import numpy as np

from closed_chain_dynamics.recording.plots import draw_lines, draw_panels
from closed_chain_dynamics.recording.segments import position_names

__all__ = ['plot_torques']

NEAR = 1.6  # a limit that is further off than this share of the largest torque is not drawn


def plot_torques(found, path, *, size=(9.0, 8.0), dpi=130):
    """Write one figure of MotionTorques: motion, torques and their limits, residuals, power."""
    time, robot = found.motion.time, found.robot
    slides = {
        joint.name
        for joint in (*robot.description.joints, *robot.description.loops)
        if joint.type.value == 'prismatic'
    }
    panels = []
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
            panels.append(
                (
                    lambda ax, columns=columns, unit=unit, title=title: draw_lines(
                        ax, time, columns, unit, title
                    ),
                    2.4,
                )
            )
    for sliding, unit, title in (
        (False, 'torque [N m]', 'Torques of the actuators tau_A'),
        (True, 'force [N]', 'Forces of the actuators tau_A'),
    ):
        columns = [
            (name, values)
            for name, values in zip(robot.actuator_names, found.tau_A.T)
            if (name in slides) == sliding
        ]
        if columns:
            panels.append(
                (
                    lambda ax, columns=columns, unit=unit, title=title: _torques(
                        ax, found, columns, unit, title
                    ),
                    3,
                )
            )
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

    def finish(axes):
        for when in time[found.singular]:
            for ax in axes:
                ax.axvline(when, color='#c0392b', linewidth=0.8, alpha=0.5, zorder=1)

    draw_panels(path, panels, time, robot.name, size=size, dpi=dpi, finish=finish)


def _torques(ax, found, columns, unit, title):
    """Draw torques, and those of their limits that are near, as dashes of the same colour."""
    colours = draw_lines(ax, found.motion.time, columns, unit, title, 'that change less')
    limits = found.limits()
    for name, values in columns:
        limit = limits[name].effort
        if name in colours and math.isfinite(limit) and limit <= NEAR * np.abs(values).max():
            for side in (-limit, limit):
                ax.axhline(side, color=colours[name], linestyle=(0, (4, 2)), linewidth=0.9)
