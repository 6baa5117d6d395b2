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

"""Wrenches and sensors beside the joints, and modes that change without a step."""

from helpers.controlled_runs import FIVE_BAR, PERIOD, ControlledRun
from helpers.felt_leg import IMPEDANCE, Leg
from hypothesis import given, settings, strategies as st
import numpy as np
import pinocchio as pin
import pytest

from closed_chain_dynamics.control.blending import STEEPEST, Blend
from closed_chain_dynamics.control.feel import Feel
from closed_chain_dynamics.control.law import MODES, TorqueController
from closed_chain_dynamics.control.sensed import Sensors


# --- what is measured beside the joints ----------------------------------------------------------
@pytest.mark.parametrize('mode', MODES)
def test_a_wrench_from_outside_is_carried_in_every_mode(mode):
    """Virtual work by Pinocchio's Jacobian of the foot; the wrench in its own axes."""
    leg = Leg()
    wrench = np.array([10.0, -20.0, 300.0, 1.0, 2.0, -3.0])
    sensors = Sensors(leg.robot, links=['foot'])
    assert sensors.take_wrench('foot', wrench, 5.0) and not sensors.take_wrench('thigh', wrench, 5)
    controller = TorqueController(leg.robot, mode=mode, feel=Feel(IMPEDANCE))
    # the law of accelerations is in the measured pose: so is the reference, for feedforward too
    reference = leg.q, leg.v, np.zeros(leg.robot.nv)
    with_it, without = (
        controller.torques(leg.q, leg.v, reference, sensors.at(leg.q, leg.v, now, now)).tau_A
        for now in (5.05, 9.0)
    )
    pin.computeJointJacobians(leg.model, leg.data, leg.q)
    frame = leg.model.getFrameId('foot')
    pin.updateFramePlacements(leg.model, leg.data)
    J = pin.getFrameJacobian(leg.model, leg.data, frame, pin.LOCAL)
    leg.prove(with_it - without, -J.T @ wrench)


def test_what_stays_away_is_left_out_and_told():
    """Each has a timeout of its own; it counts again as soon as it comes."""
    leg = Leg()
    sensors = Sensors(leg.robot, links=['foot'], wrench_timeout=0.1, human_timeout=0.3)
    assert "the wrench on 'foot'" in sensors.at(leg.q, leg.v, 0.0, 0.0).stale
    sensors.take_wrench('foot', np.ones(6), 1.0)
    sensors.take_human(['hip'], [2.0], 1.0)
    both = sensors.at(leg.q, leg.v, 1.09, 1.09)
    assert both.sources == {'foot', 'human torques'} and not both.stale
    one = sensors.at(leg.q, leg.v, 1.2, 1.2)
    assert one.sources == {'human torques'} and 'foot' in one.stale
    none = sensors.at(leg.q, leg.v, 1.4, 1.4)
    assert not none.sources and 'human torques' in none.stale
    assert not sensors.at(leg.q, leg.v, 0.1, 0.1).sources  # a clock that started anew


def test_a_control_loop_is_degraded_while_a_sensor_is_silent():
    """And goes on with the law, without the wrench, not with the fallback."""
    run = ControlledRun('exo_leg', mode='transparent')
    run.loop.sensors = Sensors(run.loop.robot, links=['foot'])
    run.run(0.01)
    assert (run.loop.safety.state, run.loop.safety.cause) == ('degraded', 'sensors')
    assert not run.loop.reason and np.any(run.tau)
    run.loop.sensors.take_wrench('foot', np.zeros(6), run.sim.time)
    run.run(0.01)
    assert run.loop.safety.state == 'active'
    assert run.loop.describe()['beside the joints'] == 'foot'


# --- no steps ------------------------------------------------------------------------------------
@given(
    st.lists(st.tuples(st.floats(-100.0, 100.0), st.integers(1, 300)), min_size=2, max_size=8),
    st.floats(0.01, 0.5),
)
@settings(max_examples=100, deadline=None)
def test_a_change_of_law_never_steps(laws, duration):
    """However soon one follows another: no turn changes more than the steepest of all fades."""
    blend, most = Blend(duration), np.full(1, 1e3)
    time, last = 0.0, None
    for k, (level, turns) in enumerate(laws):
        before = last
        for _ in range(turns):
            tau = blend.smooth(np.array([level]), time, k, most)
            if before is not None:
                steepest = STEEPEST * abs(before - level) * PERIOD / duration
                assert abs(tau - last) <= steepest + 1e-9
            last, time = tau, time + PERIOD
        if turns * PERIOD > duration + 2 * PERIOD:
            assert last == pytest.approx(level)


CHANGES = (
    {'mode': 'transparent'},
    {'mode': 'impedance', 'feel': Feel({'left_shoulder': (20.0, 1.0)})},
    {'mode': 'impedance', 'feel': Feel({'left_shoulder': (5.0, 1.0), 'left_elbow': (9.0, 0.1)})},
    {'mode': 'assist', 'feel': Feel(assist_share=0.8)},
    {'mode': 'computed_torque', 'kp': 900.0, 'kd': 60.0},
    {'mode': 'computed_torque'},
    {'mode': 'gravity_compensation'},
)


@pytest.mark.parametrize('blend', [0.2, 0.0])
def test_modes_and_gains_change_in_motion_without_a_step(blend):
    """A five-bar on its way, its mode changed every 60 ms; without a blend the guard is needed."""
    run = ControlledRun('five_bar', guard={'rate_limit': 1e5}, loop={'tracking_bound': 10.0})
    run.loop.blend = Blend(blend)
    run.follow_sines(FIVE_BAR, 2.0)
    run.run(0.1)
    rng, steps = np.random.default_rng(3), []
    for _ in range(12):
        run.loop.controller = TorqueController(run.loop.robot, **CHANGES[rng.integers(7)])
        for _ in range(60):
            before = run.tau
            run.turn()
            steps.append(np.abs(run.tau - before).max())
        assert not run.loop.reason and run.loop.safety.state == 'active'
    limit = run.loop.guard.effort.max()
    if blend:
        assert max(steps) < 0.02 * limit
    else:
        assert max(steps) > 0.05 * limit


def test_the_guard_still_bounds_every_turn_of_a_change():
    """With a slow guard no change is faster than it allows."""
    run = ControlledRun('exo_leg', mode='transparent', guard={'rate_limit': 2.0})
    run.run(0.3)
    run.loop.controller = TorqueController(
        run.loop.robot, mode='impedance', feel=Feel({'hip': (500.0, 5.0)})
    )
    effort = run.loop.guard.effort
    for _ in range(200):
        before = run.tau
        run.turn()
        assert (np.abs(run.tau - before) <= 2.0 * effort * PERIOD * (1.0 + 1e-9)).all()


def test_a_reference_is_caught_up_with_after_a_mode_without_one():
    """From where the joints are: a leg that a person has moved does not jump back."""
    run = ControlledRun('exo_leg', guard={'rate_limit': 1e3})
    run.turn()
    run.loop.take_reference(['hip'], [0.5], [[0.0]])
    run.run(0.6)
    run.loop.controller = TorqueController(run.loop.robot, mode='transparent')
    run.sim.apply_wrench('thigh', [0, 0, 0, 0, -8.0, 0])
    run.run(0.5)
    run.sim.apply_wrench('thigh', None)
    moved = run.position('hip')
    assert abs(moved) > 0.1
    run.loop.controller = TorqueController(run.loop.robot)
    speeds = run.run(2.0, lambda run: abs(run.sim.v[run.sim.robot.joint_slices('hip')[1]][0]))
    assert abs(run.position('hip')) < 1e-3 and max(speeds) < 4.0
    assert run.loop.safety.state == 'active'
