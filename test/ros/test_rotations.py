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

"""Quaternions of rotations, against SciPy, with either library below."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from closed_chain_dynamics.ros.messages import rotations

pytest.importorskip('transforms3d', reason='it is part of the extra ros')

ROUNDING = 1e-14


def same(one, two):
    """Return whether two quaternions are the same rotation."""
    return min(np.abs(one - two).max(), np.abs(one + two).max()) < ROUNDING


def wrapped():
    """Return what tf_transformations is: a wrapper of transforms3d that says x y z w."""
    from transforms3d import quaternions

    return SimpleNamespace(
        quaternion_from_matrix=lambda M: np.roll(quaternions.mat2quat(M[:3, :3]), -1),
        quaternion_about_axis=lambda angle, axis: np.roll(
            quaternions.axangle2quat(axis, angle), -1
        ),
    )


@pytest.mark.parametrize('library', [None, 'wrapped', 'real'])
def test_quaternions_are_those_of_scipy(library, monkeypatch):
    if library == 'real':
        monkeypatch.setattr(
            rotations, 'tf_transformations', pytest.importorskip('tf_transformations')
        )
    else:
        monkeypatch.setattr(rotations, 'tf_transformations', wrapped() if library else None)
    for turned in Rotation.random(50, random_state=1):
        assert same(rotations.quaternion_of(turned.as_matrix()), turned.as_quat())
    for vector in np.random.default_rng(2).normal(size=(50, 3)):
        angle = np.linalg.norm(vector)
        found = rotations.quaternion_about(vector / angle, angle)
        assert same(found, Rotation.from_rotvec(vector).as_quat())
    assert same(rotations.quaternion_of(np.identity(3)), np.array([0.0, 0.0, 0.0, 1.0]))


def test_half_a_turn_about_any_axis():
    for axis in np.identity(3):
        R = Rotation.from_rotvec(np.pi * axis).as_matrix()
        assert same(rotations.quaternion_of(R), np.array([*axis, 0.0]))
    assert 'transforms3d' in sys.modules
