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

"""What is heard of the nodes while they are disturbed, and what must never be heard."""

from collections import Counter, deque
import math
import time

from diagnostic_msgs.msg import DiagnosticArray
import numpy as np
from sensor_msgs.msg import JointState
from std_msgs.msg import String

import closed_chain_dynamics as ccd
from closed_chain_dynamics.ros.messages.qos import EVENTS, STREAM

__all__ = ['NOBODY', 'Watch']

MOST_LOOP_ERROR = 1e-6  # of the simulator [m or rad]; it closes loops to 1e-10
MOST_IMBALANCE = 1e-3  # of the books since time began, by the largest energy that was there
SHORTEST = 64  # bytes of a joint state
NOBODY = 'nobody'  # a joint in torques that no controller has sent
ROUNDING = 1.0 + 1e-9


class Watch:
    """Listens; `find(kind, text)` is told what must not be."""

    def __init__(self, node, model, find):
        robot, self._find = ccd.load(model), find
        self.joints, self.loops = robot.joint_names, robot.loop_names
        efforts = {each.name: each.limit.effort for each in robot.description.joints}
        self._limits = {
            name: efforts.get(name, efforts.get(name.rpartition(':')[0], math.inf))
            for name in robot.actuator_names
        }
        self.heard, self.events = Counter(), Counter()
        self.tau, self.tau_at = None, 0.0
        self.kept = deque(maxlen=200)  # bytes of joint states, for duplicates and delays
        self.loop_error = self.imbalance = 0.0
        self.levels = Counter()
        self._energy, self._time = 1.0, 0.0
        self._books = None  # the balance at the begin of simulated time [J]
        node.create_subscription(JointState, 'actuator_torques', self._on_torques, STREAM)
        node.create_subscription(JointState, 'joint_states', self._on_raw, STREAM, raw=True)
        node.create_subscription(JointState, 'complete/joint_states', self._on_complete, STREAM)
        node.create_subscription(DiagnosticArray, 'diagnostics', self._on_diagnostics, 50)
        node.create_subscription(String, 'contact/events', self._on_event, EVENTS)

    def _on_torques(self, message):
        if NOBODY in message.name:
            return  # what the soak itself has said
        self.heard['torques'] += 1
        tau = np.array(message.effort)
        self.tau, self.tau_at = tau, time.monotonic()
        if not np.isfinite(tau).all():
            self._find('torque', f'not finite: {tau}')
        for name, each in zip(message.name, tau):
            if abs(each) > self._limits.get(name, math.inf) * ROUNDING:
                self._find('torque', f'{name}: {each} is beyond {self._limits[name]}')

    def _on_raw(self, raw):
        self.heard['states'] += 1
        if len(raw) > SHORTEST:  # what the soak says itself may be shorter
            self.kept.append(bytes(raw))

    def _on_complete(self, message):
        self.heard['complete states'] += 1
        if not np.isfinite(message.position).all():
            self._find('state', f'a completed state is not finite: {message.position}')

    def _on_event(self, message):
        self.heard['events'] += 1

    def _on_diagnostics(self, message):
        for status in message.status:
            level = status.level[0] if isinstance(status.level, bytes) else status.level
            self.levels[f'{status.name}: {level}'] += 1
            if not status.name.endswith('simulator_node'):
                continue
            values = {each.key: each.value for each in status.values}
            if 'loop error [m or rad]' not in values:
                continue
            error = float(values['loop error [m or rad]'])
            balance = float(values['energy balance [J]'])
            energies = (float(values[f'{kind} energy [J]']) for kind in ('kinetic', 'potential'))
            self._energy = max(self._energy, *map(abs, energies))
            self.loop_error = max(self.loop_error, error)
            now = float(values['simulated time [s]'])
            if now < self._time or self._books is None:  # it has begun anew
                self._books = balance
            self._time, drift = now, balance - self._books
            self.imbalance = max(self.imbalance, abs(drift) / self._energy)
            if not error < MOST_LOOP_ERROR:
                self._find('loops', f'the loop error is {error}')
            if not abs(drift) < MOST_IMBALANCE * self._energy:
                self._find('energy', f'the books have lost {drift} J of {self._energy} J')

    def is_zero(self):
        """Return whether the last torques that were heard are zero."""
        return self.tau is not None and not self.tau.any()

    def report(self):
        """Return what was heard."""
        return {
            'heard': dict(self.heard),
            'largest loop error': self.loop_error,
            'largest imbalance of energy': self.imbalance,
            'levels of diagnostics': dict(self.levels),
        }
