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

"""Motions of a simulation, recorded as a camera would."""

from dataclasses import replace

from scipy.interpolate import CubicSpline

import closed_chain_dynamics as ccd
from closed_chain_dynamics.studies.motion.tracks import Tracks


def pendulum(**joint):
    """Return a pendulum without damping, its moment of inertia, and m g l."""
    model = ccd.load('pendulum').description
    joints = tuple(
        replace(each, **{'dynamics': replace(each.dynamics, damping=0.0), **joint})
        if each.name == 'swing'
        else each
        for each in model.joints
    )
    inertia = next(link.inertia for link in model.links if link.name == 'arm')
    length = -inertia.origin.xyz[2]
    return (
        ccd.Mechanism(replace(model, joints=joints)),
        inertia.moments[3] + inertia.mass * length**2,
        inertia.mass * 9.80665 * length,
    )


def recorded(rate=1000):
    """Return the four-bar, and Tracks of all its joints in a simulated motion of 0.5 s."""
    robot = ccd.load('four_bar')
    q = ccd.assemble(robot, {'crank': 1.0})
    sim = ccd.Simulation(robot, q, ccd.complete_velocity(robot, q, {'crank': 3.0}), dt=1.0 / rate)
    sim.run(0.5)
    return robot, tracks_of(robot, sim.log.time, dict(zip(robot.joint_names, sim.log.q.T)))


def tracks_of(robot, time, positions):
    """Return Tracks of joints of one coordinate, rates from splines."""
    tracks = Tracks(time)
    for joint, values in positions.items():
        spline = CubicSpline(time, values[:, None])
        tracks.joints[joint] = tuple(spline(time, order) for order in range(3))
    return tracks
