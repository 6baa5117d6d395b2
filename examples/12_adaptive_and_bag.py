#!/usr/bin/env python3
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

"""A pendulum released almost upright: its period to nine digits, and the run as a bag."""

from dataclasses import replace
from pathlib import Path
import sys

import numpy as np
from rosbags.highlevel import AnyReader
from rosbags.typesys import Stores, get_typestore
from scipy.special import ellipk

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description.elements import Dynamics

PATH = Path(sys.argv[1] if len(sys.argv) > 1 else 'out/12_adaptive_and_bag.png')
START = 3.1  # [rad]

description = ccd.load('pendulum').description
robot = ccd.Mechanism(
    replace(
        description,
        joints=tuple(  # the same, without its damping
            replace(joint, dynamics=Dynamics()) for joint in description.joints
        ),
    )
)

# T = 4 sqrt(I / (m g l)) K(sin^2(START / 2)), K the complete elliptic integral of the first kind
inertia = ccd.mass_matrix(robot, robot.neutral())[0, 0]
weight = ccd.inverse_dynamics(robot, [np.pi / 2], [0.0], [0.0]).tau_A[0]
period = 4.0 * np.sqrt(inertia / weight) * ellipk(np.sin(START / 2.0) ** 2)

off = {}
for integrator in ('euler', 'rk4', 'adaptive'):
    sim = ccd.Simulation(robot, [START], dt=period / 400, integrator=integrator, tolerance=1e-13)
    sim.run(2.25 * period)  # now it should just hang, at its fastest
    off[integrator] = abs(sim.q[0] / sim.v[0]) / sim.time
print(
    f'period {period:.9f} s; off by '
    + ', '.join(f'{share:.1e} ({name})' for name, share in off.items())
)
assert off['adaptive'] < 1e-9 and off['adaptive'] < off['rk4'] < off['euler']

PATH.parent.mkdir(parents=True, exist_ok=True)
bag = PATH.with_suffix('.mcap')
sim.log.to_mcap(bag)  # ros2 bag play, PlotJuggler, Foxglove
with AnyReader([bag], default_typestore=get_typestore(Stores.ROS2_HUMBLE)) as reader:
    angles = [
        reader.deserialize(data, connection.msgtype).position[0]
        for connection, _, data in reader.messages()
        if connection.topic == '/joint_states'
    ]
    topics = sorted(connection.topic for connection in reader.connections)
print(f'{len(angles)} joint states in the bag, which has {", ".join(topics)}')
assert np.array_equal(angles, sim.log.joint('swing'))
sim.log.plot(PATH)
print(f'wrote {PATH} and {bag}')
