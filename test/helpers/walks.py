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

"""A walk of the model walker in one process, step by step."""

import numpy as np

import closed_chain_dynamics as ccd
from closed_chain_dynamics.control.gait import walking_gait
from closed_chain_dynamics.control.walking import Walking

MOST_TILT, LEAST_HEIGHT = 0.6, 0.75  # beyond these it is falling [rad, m]


class Walk:
    """
    A simulation with its controller.

    `faster`: rates of the start are changed by this share each, (nv,). `push`: a force on the
    trunk [N] between two times. With `measured`, `forces` has time, and forward and upward force
    of every closed contact, at the end of each step under its torques; `moments` has the torques
    and the moments of the gait, (steps, 2, actuators).
    """

    robot, gait = ccd.load('walker'), walking_gait()

    def __init__(self, faster=0.0, push=0.0, between=(1.2, 1.3), measured=False):
        start = self.gait.sample(0.0)
        self.controller = Walking(self.robot, self.gait)
        self.sim = ccd.Simulation(self.robot, q=start.q, v=start.v * (1.0 + faster), dt=1e-3)
        self.push, self.between = push, between
        self.measured, self.forces, self.moments, self.strikes = measured, [], [], []

    def step(self):
        """Take one step of the simulation."""
        sim, steps = self.sim, self.controller.steps
        # as a node is told the time, in whole nanoseconds and never zero
        time = max(round(1e9 * sim.time), 1)
        time = time // 10**9 + 1e-9 * (time % 10**9)
        closed = [name for name in self.robot.loop_names if sim.robot.is_connected(name)]
        tau = self.controller.torques(np.array(sim.q), np.array(sim.v), closed, time)
        if self.controller.steps > steps:
            self.strikes.append((time, self.controller.stance))
        if self.push:
            acts = self.between[0] <= time < self.between[1]
            sim.apply_wrench('trunk', (self.push, 0, 0, 0, 0, 0) if acts else None)
        sim.step(tau)
        if self.measured:
            self.moments.append((tau, self.controller.reference(time).tau))
            found = ccd.contact_forces(sim.robot, sim.q, sim.v, tau)
            self.forces.append(
                (sim.time, {name: (drag[0], up) for name, (up, drag) in found.items()})
            )

    def run(self, duration):
        """Walk until a time, or until it falls; return whether it stands."""
        while self.sim.time < duration - 1e-9 and self.stands():
            self.step()
        return self.stands()

    def stands(self):
        """Return whether the figure is upright."""
        return self.sim.q[1] > LEAST_HEIGHT and abs(self.sim.q[2]) < MOST_TILT
