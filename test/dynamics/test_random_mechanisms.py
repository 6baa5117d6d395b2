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

"""What the generator of random mechanisms promises."""

import math

from helpers.random_mechanisms import (
    pinocchio_model,
    random_description,
    random_loops,
    random_pose,
    random_state,
    random_unit,
    rpy_of,
)
import numpy as np
import pinocchio as pin
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import LoopType, Pose, check


def _loop_frames(description, q, loop):
    """Return position, rotation and axis of both loop frames in the world."""
    model = pinocchio_model(description)
    data = model.createData()
    pin.framesForwardKinematics(model, data, q)
    for link, origin, axis in (
        (loop.parent, loop.parent_origin, loop.parent_axis),
        (loop.child, loop.child_origin, loop.child_axis),
    ):
        X = data.oMf[model.getFrameId(link)] * pin.SE3(
            pin.rpy.rpyToMatrix(*origin.rpy), np.array(origin.xyz)
        )
        yield X.translation, X.rotation, X.rotation @ axis


# what must vanish: gap d, rotations R and S, axes a and b
CLOSED = {
    LoopType.FIXED: lambda d, R, S, a, b: (d, (R - S).ravel()),
    LoopType.REVOLUTE: lambda d, R, S, a, b: (d, a - b),
    LoopType.PRISMATIC: lambda d, R, S, a, b: (np.cross(d, a), a - b),
    LoopType.CYLINDRICAL: lambda d, R, S, a, b: (np.cross(d, a), a - b),
    LoopType.UNIVERSAL: lambda d, R, S, a, b: (d, [a @ b]),
    LoopType.SPHERICAL: lambda d, R, S, a, b: (d,),
    LoopType.PLANAR: lambda d, R, S, a, b: ([d @ a], a - b),
    LoopType.SURFACE: lambda d, R, S, a, b: ([d @ a],),
    LoopType.FREE: lambda d, R, S, a, b: ([0.0],),
}


@pytest.mark.parametrize('kind', LoopType)
def test_random_loops_are_closed_where_they_were_made(kind):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        description = random_description(rng, 12)
        q, _, _ = random_state(rng, description)
        closed = random_loops(rng, description, q, 3, (kind,))
        check(closed)
        assert len(closed.loops) == 3 and ccd.Mechanism(closed).loop_names
        for loop in closed.loops:
            (p, R, a), (s, S, b) = _loop_frames(closed, q, loop)
            gap = np.abs(np.concatenate(CLOSED[kind](s - p, R, S, a, b))).max()
            assert gap <= 1e-13, f'{loop.name} of tree {seed} is open by {gap:.2e}'


def test_roll_pitch_and_yaw_give_the_rotation_back_at_any_pitch():
    rng = np.random.default_rng(0)
    for pitch in (0.3, math.pi / 2.0, -math.pi / 2.0, math.pi / 2.0 - 1e-9, 1.5):
        R = Pose(rpy=(rng.normal(), pitch, rng.normal())).rotation
        np.testing.assert_allclose(Pose(rpy=rpy_of(R)).rotation, R, atol=1e-15)
    for turn in rng.uniform(-math.pi, math.pi, 10):  # roll and yaw are one angle here
        c, s = math.cos(turn), math.sin(turn)
        R = np.array([[0.0, s, c], [0.0, c, -s], [-1.0, 0.0, 0.0]])
        np.testing.assert_allclose(Pose(rpy=rpy_of(R)).rotation, R, atol=1e-15)
    for _ in range(100):
        R = random_pose(rng).rotation
        np.testing.assert_allclose(Pose(rpy=rpy_of(R)).rotation, R, atol=1e-15)
        assert math.isclose(np.linalg.norm(random_unit(rng)), 1.0, rel_tol=1e-15)
