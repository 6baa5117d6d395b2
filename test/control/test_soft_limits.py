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

"""Motors keep joints within their limits where nothing else does, whatever a law asks for."""

from helpers.controlled_runs import PERIOD, ControlledRun
from helpers.page_blocks import DOCS, blocks
import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.control.joint_limits import JointLimits
from closed_chain_dynamics.dynamics.constraints import (
    actuator_rows,
    allowed_motions,
    loop_jacobian,
    loop_kinematics,
)

STROKE, RAM_SPEED = 0.08, 0.2  # of the ram, shorter and slower than its page says [m, m/s]
HIP, HIP_SPEED, CRANK = 1.0, 8.0, 1.2  # limits of the leg [rad, rad/s]


def pushed(start, joint, torque, duration=0.6):
    """Return a leg without stops whose motors add what a person is said to do to a joint."""
    run = ControlledRun('exo_leg', start=start, stops=False, mode='assist')
    run.turn()
    farthest = []
    for _ in range(round(duration / PERIOD)):
        run.loop.sensors.take_human([joint], [torque], run.sim.time)
        run.turn()
        farthest.append([run.position(name) for name in ('hip', 'left_crank', 'right_crank')])
    return run, np.max(farthest, axis=0)


@pytest.mark.parametrize('torque', [60.0, 1e3, 1e6])
@pytest.mark.parametrize('start', [0.0, 0.6, 0.9, 0.97, HIP])
def test_no_torque_of_a_person_makes_a_motor_drive_a_joint_beyond_its_limit(start, torque):
    run, (hip, _, _) = pushed({'hip': start}, 'hip', torque)
    assert run.loop.safety.state in ('active', 'degraded'), run.loop.safety
    assert hip <= HIP, 'the zone is before the limit'


@pytest.mark.parametrize('torque', [5.0, 60.0])
def test_motors_of_passive_joints_stop_before_their_own_limits(torque):
    start = {'left_crank': -0.9, 'right_crank': -0.9}
    run, (_, left, right) = pushed(start, 'ankle_pitch', torque)
    assert run.loop.safety.state in ('active', 'degraded'), run.loop.safety
    assert max(left, right) <= CRANK


def test_motors_make_no_joint_faster_than_its_limit():
    run = ControlledRun('exo_leg', start={'hip': -0.6}, stops=False, mode='assist')
    run.turn()
    hip, fastest = run.sim.robot.joint_slices('hip')[1], 0.0
    for _ in range(400):
        run.loop.sensors.take_human(['hip'], [1e3], run.sim.time)
        run.turn()
        fastest = max(fastest, float(run.sim.v[hip][0]))
    assert 0.8 * HIP_SPEED < fastest <= HIP_SPEED
    assert not run.loop.safety.is_fault


def ram(**options):
    """Return an ankle with a motor that closes the loop, and a shorter and slower stroke."""
    text = next(
        text for _, title, text in blocks(DOCS / 'pages' / 'loop_motor.md') if title == 'ram.urdf'
    )
    limit = '<limit lower="0" upper="0.13" effort="1500" velocity="0.5"/>'
    assert limit in text
    shorter = limit.replace('0.13', str(STROKE)).replace('0.5', str(RAM_SPEED))
    return ControlledRun(text.replace(limit, shorter), start={'ram': 0.05}, stops=False, **options)


def stroke(run):
    """Return position and speed of the ram."""
    L, positions = loop_kinematics(run.sim.robot, run.sim.q)
    k = run.sim.robot.loop_coordinate_names.index('ram')
    return float(positions[k]), float(L[k] @ run.sim.v)


@pytest.mark.parametrize('torque', [-5.0, -200.0, -1e5])
def test_a_motor_that_closes_a_loop_stays_within_its_limits(torque):
    run = ram(mode='assist')
    run.turn()
    seen = []
    for _ in range(600):
        run.loop.sensors.take_human(['ankle'], [torque], run.sim.time)
        run.turn()
        seen.append(stroke(run))
    farthest, fastest = np.max(seen, axis=0)
    assert run.loop.safety.state in ('active', 'degraded'), run.loop.safety
    assert 0.9 * STROKE < farthest <= STROKE and fastest <= RAM_SPEED


def test_a_loop_joint_that_is_too_fast_is_told():
    run = ram()
    q, limits = run.sim.q, run.loop.watcher.limits
    W = allowed_motions(run.sim.robot, q)[:, 0]
    v = W / abs(loop_jacobian(run.sim.robot, q)[0] @ W)
    v *= 2.0 * RAM_SPEED
    _, fast, near = limits.look(q, v)
    assert (
        near and fast == f"'ram' moves at 0.4 rad/s or m/s, faster than its limit of {RAM_SPEED}"
    )
    assert limits.look(q, 0.45 * v)[1] == ''


def test_an_open_loop_has_no_limits():
    run = ram()
    limits = JointLimits(run.sim.robot)
    far = ccd.assemble(run.sim.robot, {'ram': 0.09}, limits=False)
    assert limits.look(far, np.zeros(run.sim.robot.nv))[0]
    run.sim.robot.cut('ram')
    assert not limits.look(far, np.zeros(run.sim.robot.nv))[0]


def power_of_fallback(model, fallback, rate, guard):
    """Return the largest power that motors give or take in a motion that nobody asked for [W]."""
    options = {'guard': guard, 'loop': {'fallback': fallback, 'damping': 300.0}}
    leg = {'model': 'exo_leg', 'start': {'hip': 0.9}, **options}
    run = ram(**options) if model == 'ram' else ControlledRun(**leg)
    robot = run.sim.robot
    W = allowed_motions(robot, run.sim.q)
    run.sim.v = rate * W @ np.ones(W.shape[1])
    for _ in range(60):
        run.sim.time += PERIOD
        run.take()
    return float(np.abs(run.tau * (actuator_rows(robot, run.sim.q) @ run.sim.v)).max())


@pytest.mark.parametrize('model, rate', [('exo_leg', 0.2), ('ram', 2.0)])
@pytest.mark.parametrize('fallback', ['gravity', 'damping'])
def test_the_fallback_keeps_to_the_limit_of_power_too(model, fallback, rate):
    """Also of a motor that closes a loop."""
    power = 0.5 * power_of_fallback(model, fallback, rate, {})
    limited = power_of_fallback(model, fallback, rate, {'power_limit': power})
    assert 0.0 < limited <= power * (1.0 + 1e-9)
