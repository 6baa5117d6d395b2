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

"""The base of a floating robot from an IMU or a pose: what Pinocchio says that they measure."""

from helpers.floating_hopper import LEG, Hopper, crouched
import numpy as np
import pinocchio as pin
import pytest

from closed_chain_dynamics.control.base_state import BaseState
from closed_chain_dynamics.errors import StateError

EXACT = 1e-12


def same(found, hopper):
    """Check a joined state against the truth."""
    names, position, velocity = found
    assert names == [*LEG, 'base']
    q = position[2:]
    q[3:] *= np.sign(q[3:] @ hopper.q[3:7])
    np.testing.assert_allclose(q, hopper.q[:7], atol=1e3 * EXACT)
    np.testing.assert_allclose(velocity[2:], hopper.v[:6], atol=1e3 * EXACT)


def test_odometry_of_a_link_on_the_base_is_the_base():
    hopper = Hopper()
    base = BaseState(hopper.robot)
    base.take_pose(*hopper.sensor(), stamp=1.0, link='sensor')
    same(base.join(LEG, *hopper.leg(), stamp=1.0), hopper)


@pytest.mark.parametrize('is_known', [True, False])
def test_an_imu_and_a_foot_that_stands_give_the_whole_base(is_known):
    """Position and linear velocity follow from the foot, also before any pose is known."""
    hopper = Hopper()
    last = hopper.q.copy(), hopper.v.copy(), 1.0
    last[0][:3] += 0.2  # what is known of the position may be wrong
    base = BaseState(hopper.robot, known=lambda: last if is_known else None)
    pose, twist = hopper.sensor()
    base.take_imu(pose[3:], twist[3:], stamp=1.0, link='sensor')
    same(base.join(LEG, *hopper.leg(), stamp=1.0), hopper)


def test_a_robot_in_the_air_stays_where_it_was():
    """And torques do not depend on where that is, nor on how fast it goes there."""
    hopper = Hopper()
    hopper.robot.cut('foot')
    base = BaseState(hopper.robot, known=lambda: (hopper.q, hopper.v, 1.0))
    pose, twist = hopper.sensor()
    base.take_imu(pose[3:], twist[3:], stamp=1.0, link='sensor')
    _, position, velocity = base.join(LEG, *hopper.leg(), stamp=1.0)
    np.testing.assert_allclose(position[2:5], hopper.q[:3], atol=EXACT)
    assert not velocity[2:5].any()
    q, v = hopper.q.copy(), hopper.v.copy()
    v[:6] = velocity[2:]
    q[:3] = position[2:5] + 5.0
    still, moving = (
        pin.nonLinearEffects(hopper.model, hopper.model.createData(), q, each)
        for each in (v, hopper.v)
    )
    np.testing.assert_allclose(  # with the acceleration that keeps the world velocity
        still[6:], (moving + _steady(hopper))[6:], atol=1e3 * EXACT
    )


def _steady(hopper):
    """Return M a of the acceleration -w x v, which a steady velocity has in turning axes."""
    a = np.zeros(hopper.robot.nv)
    a[:3] = -np.cross(hopper.v[3:6], hopper.v[:3])
    M = pin.crba(hopper.model, hopper.model.createData(), hopper.q)
    M = np.triu(M) + np.triu(M, 1).T
    return M @ a


def test_a_base_is_carried_on_to_the_stamp_of_the_joints():
    """As Pinocchio integrates its twist; older than the timeout there is no state."""
    hopper, late = Hopper(), 0.02
    base = BaseState(hopper.robot, timeout=0.03)
    with pytest.raises(StateError, match='has arrived yet'):
        base.join(LEG, *hopper.leg(), stamp=1.0)
    base.take_pose(*hopper.sensor(), stamp=1.0, link='sensor')
    _, position, _ = base.join(LEG, *hopper.leg(), stamp=1.0 + late)
    v = np.concatenate([hopper.v[:6], [0.0, 0.0]])
    expected = pin.integrate(hopper.model, hopper.q, late * v)[:7]
    found = position[2:]
    found[3:] *= np.sign(found[3:] @ expected[3:])
    np.testing.assert_allclose(found, expected, atol=1e3 * EXACT)
    for stamp in (1.031, 0.969):
        with pytest.raises(StateError, match='stamped by the same clock'):
            base.join(LEG, *hopper.leg(), stamp=stamp)


@pytest.mark.parametrize('passed, off', [(1.0, 1e-9), (0.01, 5e-5)])
def test_feet_hold_the_base_where_passive_joints_are_now(passed, off):
    """Not where they were at the last state: closed anew after a gap, else by their velocities."""
    robot, then, now = crouched(passed)
    base = BaseState(robot, timeout=0.05, known=lambda: (*then, 0.0))
    q, v = now
    base.take_imu(q[3:7], v[3:6], stamp=passed)
    _, position, _ = base.join(['crank'], q[[7]], v[[6]], stamp=passed)
    moved = np.abs(now[0][:3] - then[0][:3]).max()
    assert moved > 10.0 * off
    np.testing.assert_allclose(position[1:4], now[0][:3], atol=off)
