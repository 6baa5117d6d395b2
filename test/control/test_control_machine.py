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

"""
The control loop under whatever comes, as a state machine of Hypothesis.

A leg is simulated in lockstep with its ControlLoop, with and without stops at the limits of its
joints. Rules give it references of any kind, states that lie, lack, repeat or stay away, pushes,
changes of mode, torques of a person, and clear faults. After every turn: torques are finite,
within effort, rate and power; no joint is beyond its limit by more than the soft zone on account
of the motors; a fault stays until it is cleared, with torques of the fallback, and none comes
before the law has sent torques; what is wrong is never called ready or active; and the fallback
comes within the timeout.
"""

from contextlib import suppress

from helpers.controlled_runs import PERIOD, ControlledRun
from hypothesis import HealthCheck, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.control.fallback import FALLBACKS
from closed_chain_dynamics.control.feel import Feel
from closed_chain_dynamics.control.law import MODES, TorqueController
from closed_chain_dynamics.dynamics.constraints import actuator_rows

TIMEOUT = 0.02  # of states [s]
RATE, POWER = 100.0, 60.0  # effort limits per second; W
ROUNDING = 1e-9
HOPELESS = (np.nan, np.inf, -np.inf, 1e308, -1e308, 1e9)
PUSHES = [('hip', 500.0), ('ankle_pitch', 20.0), ('knee', 1e6), ('hip', -1e308)]
NAMES = ['hip', 'knee', 'left_crank', 'right_crank', 'ankle_pitch', 'ankle_roll', 'knee_rear']

numbers = st.one_of(
    st.floats(-1.5, 1.5), st.floats(allow_nan=True, allow_infinity=True), st.sampled_from(HOPELESS)
)
times = st.one_of(st.just(0.0), st.floats(0.01, 1.0), st.floats(-1.0, 1e9))


class AnyInput(RuleBasedStateMachine):
    """The leg, its control loop, and what they have to keep."""

    @initialize(fallback=st.sampled_from(FALLBACKS), clip=st.booleans(), stops=st.booleans())
    def begin(self, fallback, clip, stops):
        self.faulty = self.driven = False
        self.run = ControlledRun(
            'exo_leg',
            stops=stops,
            guard={'rate_limit': RATE, 'power_limit': POWER},
            loop={
                'fallback': fallback,
                'clip': clip,
                'state_timeout': TIMEOUT,
                'on_change': self.note,
            },
        )
        self.effort = self.run.loop.guard.effort
        self.before, self.clock, self.last_good = self.run.tau.copy(), 0.0, 0.0

    def note(self, safety):
        """Remember that there was a fault."""
        assert self.driven or not safety.is_fault, 'a fault before anything was driven'
        self.faulty = self.faulty or safety.is_fault

    # --- what comes ------------------------------------------------------------------------------
    @rule(turns=st.sampled_from([1, 10, 300]))
    def good_states(self, turns):
        for _ in range(turns):
            self.turn(*self.run.measured())

    @rule(
        names=st.lists(st.sampled_from(NAMES), min_size=1, max_size=3),
        values=st.lists(numbers, min_size=3, max_size=3),
        rates=st.one_of(st.none(), st.lists(numbers, min_size=3, max_size=3)),
        time=times,
        bend=st.one_of(st.none(), numbers),
    )
    def any_reference(self, names, values, rates, time, bend=None):
        velocities = None if rates is None else [rates[: len(names)]]
        bends = None if bend is None else [[bend] * len(names)]
        self.run.loop.take_reference(names, [time], [values[: len(names)]], velocities, bends)

    @rule(hip=st.floats(-0.5, 0.9), knee=st.floats(0.0, 0.8), time=st.floats(0.2, 1.0))
    def reference_within_limits(self, hip, knee, time):
        self.run.loop.take_reference(['hip', 'knee'], [time], [[hip, knee]])

    @rule(hip=st.floats(0.8, 1.5), crank=st.floats(1.0, 1.4), time=st.sampled_from([0.0, 0.3]))
    def reference_beyond_limits(self, hip, crank, time):
        names = ['hip', 'left_crank', 'right_crank']
        taken = self.run.loop.take_reference(names, [time], [[hip, crank, crank]])
        self.good_states(300 if taken and time else 100)  # what is refused moves nothing

    @rule(joint=st.sampled_from(NAMES), value=numbers, rate=numbers, turns=st.integers(1, 6))
    def states_that_lie(self, joint, value, rate, turns):
        for _ in range(turns):
            q, v = self.run.measured()
            k = self.run.names.index(joint)
            q[k], v[k] = value, rate
            self.turn(q, v)

    @rule(back=st.floats(-1.0, 1.0), age=st.one_of(st.just(0.0), st.floats(-1e5, 1e5)))
    def stamps_that_lie(self, back, age):
        self.turn(*self.run.measured(), back=back, age=age)

    @rule(mode=st.sampled_from(MODES), turns=st.sampled_from([1, 100]))
    def another_mode(self, mode, turns):
        feel = Feel({'hip': (60.0, 2.0), 'ankle_pitch': (20.0, 0.5)})
        self.run.loop.controller = TorqueController(self.run.loop.robot, mode=mode, feel=feel)
        self.good_states(turns)

    @rule(joint=st.sampled_from(NAMES), torque=numbers, turns=st.sampled_from([1, 50, 300]))
    def a_person_who_pushes(self, joint, torque, turns):
        for _ in range(turns):
            with suppress(ccd.StateError):  # what is not finite is refused
                self.run.loop.sensors.take_human([joint], [torque], self.clock)
            self.turn(*self.run.measured())

    @rule(turns=st.integers(1, 60))
    def silence(self, turns):
        for _ in range(turns):
            self.turn(None, None)

    @rule()
    def clear(self):
        was_fault = self.run.loop.safety.is_fault
        why = self.run.loop.clear(self.clock)
        assert bool(why) == self.run.loop.safety.is_fault
        self.faulty = bool(why)
        self.driven = self.driven and not was_fault

    # --- what must hold --------------------------------------------------------------------------
    def turn(self, q, v, back=0.0, age=0.0):
        """Take one state, or none, and one step of the simulation."""
        run, loop = self.run, self.run.loop
        self.clock += PERIOD
        tau = None
        if q is not None:
            stamp = 1.0 + self.clock - back
            tau = loop.take_state(run.names, q, v, stamp=stamp, now=self.clock, age=age)
        if tau is not None:
            self.last_good = self.clock
        self.driven = self.driven or not loop.reason
        watched = loop.watch(self.clock)
        tau = watched if watched is not None else tau
        if tau is not None:
            self.check(tau)
            run.tau = self.before = tau.copy()
        if self.clock - self.last_good > TIMEOUT and loop.fallback != 'gravity':
            assert not run.tau.any(), 'the fallback came late'
        run.sim.step(run.tau)

    def check(self, tau):
        """Torques finite, within effort and rate; zero at once is always allowed."""
        assert np.isfinite(tau).all()
        assert (np.abs(tau) <= self.effort + ROUNDING).all()
        reach = RATE * self.effort * 0.01 + ROUNDING  # a pause allows no more than 10 ms
        smaller = (np.abs(tau) <= np.abs(self.before)) & (tau * self.before >= 0.0)
        assert (smaller | (np.abs(tau - self.before) <= reach)).all()
        loop, state = self.run.loop, self.run.loop.state
        if state is not None and state.q is not None:
            speeds = np.abs(actuator_rows(loop.robot, state.q) @ state.v)
            assert (np.abs(tau) * speeds <= POWER * (1.0 + ROUNDING)).all()

    @invariant()
    @precondition(lambda self: hasattr(self, 'run'))
    def faults_latch(self):
        safety = self.run.loop.safety
        assert safety.is_fault or not self.faulty, 'a fault went away by itself'
        if safety.is_fault:
            assert self.run.loop.fallback != 'zero' or not self.run.loop.guard.tau.any()

    @invariant()
    @precondition(lambda self: hasattr(self, 'run'))
    def what_is_wrong_is_told(self):
        loop = self.run.loop
        if loop.watcher.doubt[1]:
            assert not self.driven and loop.safety.state == 'degraded'

    @invariant()
    @precondition(lambda self: hasattr(self, 'run'))
    def no_joint_is_driven_beyond_its_limit(self):
        """While torques of the law are sent, by a loop that is told the truth."""
        loop = self.run.loop
        if loop.safety.state == 'active':
            assert not loop.watcher.limits.look(self.run.sim.q, self.run.sim.v)[0]


def test_a_joint_said_to_be_years_away_costs_no_endless_search():
    """A speed that lies foretells such angles; a way there in small steps would never end."""
    robot = ccd.load('exo_leg')
    q = ccd.assemble(robot)
    far = ccd.assemble(robot, {'right_crank': 1e13}, start=q, limits=False)
    assert far[robot.joint_slices('right_crank')[0]] == 1e13
    assert max(map(max, robot.loop_gaps(far).values())) < 1e-9


@pytest.mark.parametrize('clip', [False, True])
@pytest.mark.parametrize('fallback', FALLBACKS)
def test_corners_that_chance_may_miss(fallback, clip):
    """Every rule once or more in an order that drives, disturbs, faults and clears."""
    leg = AnyInput()
    leg.begin(fallback, clip, stops=not clip)
    joint, most = ['hip'], leg.run.loop.guard.effort.size
    steps = [(leg.good_states, (10,)), (leg.reference_within_limits, (0.3, 0.4, 0.2))]
    steps += [(leg.good_states, (100,)), (leg.reference_beyond_limits, (1.5, 1.4, 0.0))]
    for value in HOPELESS:
        steps += [
            (leg.any_reference, (joint, [value] * most, None, 0.0)),
            (leg.any_reference, (joint, [0.1] * most, [value] * most, 1.0)),
            (leg.any_reference, (joint, [0.1] * most, None, value)),
            (leg.any_reference, (joint, [0.1] * most, [0.0] * most, 0.0, value)),
            (leg.states_that_lie, ('knee', value, 0.0, 1)),
            (leg.states_that_lie, ('knee_rear', 0.0, value, 1)),
            (leg.good_states, (1,)),
        ]
    steps += [(leg.stamps_that_lie, each) for each in ((1, 0), (-1, 0), (0, 1e5), (0, -1e5))]
    steps += [(leg.clear, ()), (leg.reference_within_limits, (0.8, 0.2, 0.2))]
    steps += [(leg.good_states, (300,)), (leg.another_mode, ('assist', 1))]
    steps += [(leg.a_person_who_pushes, (*each, 300)) for each in PUSHES]
    steps += [(leg.another_mode, ('computed_torque', 1))]
    for insist in ((leg.states_that_lie, ('hip', 0.0, 1e9, 6)), (leg.silence, (60,))):
        steps += [(leg.clear, ()), (leg.reference_within_limits, (0.1, 0.2, 0.2))]
        steps += [(leg.good_states, (50,)), insist, (leg.clear, ()), (leg.good_states, (10,))]
    steps += [(leg.clear, ()), (leg.good_states, (10,))]
    for rule_of, arguments in steps:
        rule_of(*arguments)
        leg.faults_latch()
        leg.what_is_wrong_is_told()
        leg.no_joint_is_driven_beyond_its_limit()


TestAnyInput = AnyInput.TestCase
TestAnyInput.settings = settings(
    max_examples=15,
    stateful_step_count=25,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
