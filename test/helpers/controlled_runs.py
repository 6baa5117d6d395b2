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

"""A simulated mechanism under torque control in this process, for several tests."""

import re

import numpy as np

import closed_chain_dynamics as ccd
from closed_chain_dynamics.control.control_loop import ControlLoop
from closed_chain_dynamics.control.law import TorqueController
from closed_chain_dynamics.control.torque_guard import TorqueGuard
from closed_chain_dynamics.model import library

PERIOD = 1e-3
DEAD_POINT = 1.48  # of the cranks of the leg: in line with their rods, which lean a little [rad]
FIVE_BAR = {'left_shoulder': (0.5, 0.8), 'right_shoulder': (-0.3, 1.3)}  # size [rad], rate [Hz]


class ControlledRun:
    """
    A simulation, a ControlLoop that answers it, and what they did.

    `stops`: whether joints of the simulation stop at their limits, whatever drives them.
    """

    def __init__(self, model, *, start=None, names=None, guard=None, loop=None, stops=True, **law):
        robot = ccd.load(model)
        self.sim = ccd.Simulation(
            robot, q=ccd.assemble(robot, start or {}), dt=PERIOD, log_every=0, limits=stops
        )
        own = ccd.load(model)  # the controller's model: events here do not change it by magic
        self.refused = []
        self.loop = ControlLoop(
            TorqueController(own, **law),
            TorqueGuard(own, **guard or {}),
            on_refusal=lambda name, text: self.refused.append((name, text)),
            **loop or {},
        )
        self.names = list(names or robot.joint_names)
        self.known, self.places = None, None
        self.tau = np.zeros(len(robot.actuator_names))

    def measured(self):
        """Return positions and velocities of the measured joints."""
        robot = self.sim.robot
        now = robot.structure.bodies['iq'].tobytes(), [*self.names]
        if self.known != now:  # where joints are changes with the tree
            self.known = now
            slices = [robot.joint_slices(name) for name in self.names]
            self.places = [
                np.concatenate([np.arange(each.start, each.stop) for each in one])
                for one in zip(*slices)
            ]
        in_q, in_v = self.places
        return self.sim.q[in_q], self.sim.v[in_v]

    def take(self, **options):
        """Answer the present state."""
        now = self.sim.time
        tau = self.loop.take_state(
            self.names, *self.measured(), stamp=1.0 + now, now=now, **options
        )
        self.tau = self.tau if tau is None else tau

    def turn(self, **options):
        """Take one turn and one step."""
        self.take(**options)
        self.sim.step(self.tau)

    def run(self, duration, watch=None):
        """Take turns for a while; return `watch(self)` of every turn."""
        seen = []
        for _ in range(round(duration / PERIOD)):
            self.turn()
            if watch:
                seen.append(watch(self))
        return seen

    def position(self, name):
        """Return where a joint of one degree of freedom is."""
        return float(self.sim.q[self.sim.robot.joint_slices(name)[0]][0])

    def follow_sines(self, waves, duration, every=0.02):
        """Give a reference of sines about the present pose that begin gently, as spline points."""
        self.turn()
        times = np.arange(1, round(duration / every) + 1) * every
        self.centre = {name: self.position(name) for name in waves}
        self.waves, self.begun = waves, self.sim.time - PERIOD
        points = np.array([[self.wanted(name, t) for name in waves] for t in times])
        assert self.loop.take_reference(list(waves), times, points)

    def wanted(self, name, t):
        """Return the reference of a joint at a time since its begin."""
        size, frequency = self.waves[name]
        return self.centre[name] + size * np.sin(2.0 * np.pi * frequency * t) * (
            1.0 - np.exp(-((t / 0.3) ** 2))
        )

    def tracking_error(self):
        """Return how far the joints are from the sines at this instant."""
        t = self.sim.time - self.begun
        return max(abs(self.position(name) - self.wanted(name, t)) for name in self.waves)


def loose_leg():
    """Return the text of a leg whose limits allow the dead point of crank and rod."""
    text = library.find('exo_leg').read_text()
    for old, new in (('1.2', '2.2'), ('1.6', '2.6'), ('0.6"', '0.9"')):
        text = text.replace(f'lower="-{old}', f'lower="-{new}').replace(
            f'upper="{old}', f'upper="{new}'
        )
    return text


def ball_jointed(text):
    """Return a leg whose rods hang in a ball at their cranks, and in a cross on the foot."""
    for side in ('left', 'right'):
        for kind, name in (('link', f'{side}_rod_cross'), ('joint', f'{side}_rod_roll')):
            text = re.sub(rf'<{kind} name="{name}".*?</{kind}>', '', text, flags=re.DOTALL)
        ball = (
            f'<joint name="{side}_ball" type="floating" cc:type="spherical"> '
            f'<parent link="{side}_crank_link"/> <child link="{side}_rod"/> '
            '<origin xyz="-0.04 0 0"/> </joint>'
        )
        text = re.sub(rf'<joint name="{side}_rod_pitch".*?</joint>', ball, text, flags=re.DOTALL)
        heel = re.search(
            rf'<constraint name="{side}_heel".*?</constraint>', text, flags=re.DOTALL
        )[0]
        crossed = (
            heel.replace('spherical', 'universal')
            .replace('<child link', '<parent_axis xyz="1 0 0"/> <child link')
            .replace('</constraint>', '<child_axis xyz="0 1 0"/> </constraint>')
        )
        text = text.replace(heel, crossed)
    return text
