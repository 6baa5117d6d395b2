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
Generated code of robots that nobody here wrote, where a folder of them is on this machine.

What these files need is tested with own models too: without them nothing goes untested.
"""

from pathlib import Path

import numpy as np
import pytest

import closed_chain_dynamics as ccd

FOLDER = Path(__file__).resolve().parents[3] / 'shared' / 'models'
SAME = 1e-12  # of the largest number, or of one [rad/s^2 or N m]: sums in another order
DIFFERENCES = 1e-6  # of central differences, relative
STEP = 3e-7
ROBOTS = (
    'urdfplus/planar_leg_linkage.urdf',
    'urdfplus/parallel_chain_Implicit_depth5_loop_size3.urdf',
    'extended_urdf/5bar_linkage_iso3d/robot.urdf',
    'mjcf/agility_cassie/cassie.nomesh.xml',
)


def assert_close(actual, expected, tolerance, scale=1.0):
    unit = max(np.abs(expected).max(initial=0.0), scale)
    assert np.abs(actual - expected).max(initial=0.0) <= tolerance * unit


@pytest.mark.skipif(not FOLDER.is_dir(), reason='robots of other projects are not on this machine')
@pytest.mark.parametrize('name', ROBOTS)
def test_generated_code_of_a_robot_of_others_is_the_core(name):
    robot, rng = ccd.load(FOLDER / name), np.random.default_rng(3)
    start = ccd.assemble(robot)
    fast = robot.compile(start)
    moved = ccd.complete_velocity(robot, start, rng.normal(size=robot.nv))
    q = ccd.assemble(robot, start=ccd.integrate(robot, start, 0.1 * moved))
    v = ccd.complete_velocity(robot, q, rng.normal(size=robot.nv))
    tau = rng.normal(size=len(robot.actuator_names))
    f, core = fast.forward_dynamics(q, v, tau), ccd.forward_dynamics(robot, q, v, tau)
    r = fast.inverse_dynamics(q, v, core.acceleration)
    needed = ccd.inverse_dynamics(robot, q, v, core.acceleration)
    assert not f.generic and not r.generic
    assert_close(f.acceleration, core.acceleration, SAME)
    for forces in ('tau_O', 'tau_G', 'tau_A'):
        assert_close(getattr(r, forces), getattr(needed, forces), SAME)
    # what no motor gives is a difference of forces, here nothing but their rounding
    assert_close(r.residual, needed.residual, SAME, np.abs(needed.tau_O).max())

    def acceleration(x):
        return ccd.forward_dynamics(robot, ccd.integrate(robot, q, x), v, tau).acceleration

    slopes = [acceleration(STEP * e) - acceleration(-STEP * e) for e in np.eye(robot.nv)]
    wrt_q = ccd.derivatives(robot, q, v, tau).wrt_q
    assert_close(wrt_q, np.array(slopes).T / (2 * STEP), DIFFERENCES)
