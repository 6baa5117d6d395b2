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

"""States, wrenches and points that make no sense are refused by name."""

import math

from helpers.random_mechanisms import random_state, relative_error
import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import Description, Inertia, Joint, JointType, Link, Pose

# Lengths and rates of the trees are about one: what comes out of them is rounded to a unit like
# this, even where it happens to vanish.
UNIT = 1.0


def _one_of_each():
    """Return a robot with a hinge, a ball, a planar and a free joint, and a state of it."""
    kinds = {
        'hinge': JointType.REVOLUTE,
        'ball': JointType.SPHERICAL,
        'plane': JointType.PLANAR,
        'flight': JointType.FLOATING,
    }
    joints = tuple(
        Joint(name, kind, 'ground', f'{name}_link', axis=(0.0, 0.0, 1.0))
        for name, kind in kinds.items()
    )
    bodies = tuple(
        Link(joint.child, Inertia(1.0, Pose(), (1.0, 0.0, 0.0, 1.0, 0.0, 1.0))) for joint in joints
    )
    description = Description('collection', (Link('ground'), *bodies), joints)
    return (ccd.Mechanism(description), *random_state(np.random.default_rng(1), description))


NEED_STATE = {
    'newton_euler': lambda r, q, v, a: ccd.newton_euler(r, q, v, a),
    'joint_wrenches': lambda r, q, v, a: ccd.joint_wrenches(r, q, v, a),
    'link_accelerations': lambda r, q, v, a: ccd.link_accelerations(r, q, v, a),
    'link_velocities': lambda r, q, v, a: ccd.link_velocities(r, q, v),
    'jacobian_bias': lambda r, q, v, a: ccd.jacobian_bias(r, q, v, 'ball_link'),
    'energy': lambda r, q, v, a: ccd.energy(r, q, v),
    'momentum': lambda r, q, v, a: ccd.momentum(r, q, v),
    'mass_matrix': lambda r, q, v, a: ccd.mass_matrix(r, q),
    'jacobian': lambda r, q, v, a: ccd.jacobian(r, q, 'ball_link'),
    'center_of_mass': lambda r, q, v, a: ccd.center_of_mass(r, q),
    'link_placement': lambda r, q, v, a: ccd.link_placement(r, q, 'ball_link'),
    'link_placements': lambda r, q, v, a: ccd.link_placements(r, q),
}
NEED_RATES = [
    'newton_euler',
    'joint_wrenches',
    'link_accelerations',
    'link_velocities',
    'jacobian_bias',
    'energy',
    'momentum',
]
NEED_ACCELERATIONS = ['newton_euler', 'joint_wrenches', 'link_accelerations']


@pytest.mark.parametrize('name', NEED_STATE)
def test_a_configuration_of_the_wrong_length_is_refused(name):
    robot, q, v, a = _one_of_each()
    with pytest.raises(ccd.StateError, match=rf'q has shape \({robot.nq - 1},\).*\({robot.nq},\)'):
        NEED_STATE[name](robot, q[:-1], v, a)


@pytest.mark.parametrize('name', NEED_RATES)
def test_velocities_of_the_wrong_length_are_refused(name):
    robot, q, v, a = _one_of_each()
    with pytest.raises(ccd.StateError, match=rf'v has shape \({robot.nv + 1},\).*\({robot.nv},\)'):
        NEED_STATE[name](robot, q, np.append(v, 0.0), a)


@pytest.mark.parametrize('name', NEED_ACCELERATIONS)
def test_accelerations_of_the_wrong_length_are_refused(name):
    robot, q, v, a = _one_of_each()
    with pytest.raises(ccd.StateError, match='a has shape'):
        NEED_STATE[name](robot, q, v, a[:-1])


def test_text_in_a_configuration_is_refused():
    robot, q, v, a = _one_of_each()
    with pytest.raises(ccd.StateError, match='q must be numbers'):
        ccd.newton_euler(robot, ['x'] * robot.nq, v, a)


@pytest.mark.parametrize('name', NEED_STATE)
def test_complex_numbers_are_refused_and_not_cut(name):
    robot, q, v, a = _one_of_each()
    with pytest.raises(ccd.StateError, match='q must be numbers, not complex'):
        NEED_STATE[name](robot, q * (1 + 1e-3j), v, a)


@pytest.mark.parametrize('bad', [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize('name', NEED_STATE)
def test_a_configuration_that_is_not_finite_is_refused_with_the_name_of_the_joint(name, bad):
    robot, q, v, a = _one_of_each()
    q[robot.joint_slices('plane')[0].start] = bad
    with pytest.raises(ccd.StateError, match="'plane'"):
        NEED_STATE[name](robot, q, v, a)


@pytest.mark.parametrize('bad', [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize('name', NEED_RATES)
def test_a_velocity_that_is_not_finite_is_refused_with_its_name(name, bad):
    robot, q, v, a = _one_of_each()
    v[robot.coordinate_names.index('flight:wy')] = bad
    with pytest.raises(ccd.StateError, match="'flight:wy'"):
        NEED_STATE[name](robot, q, v, a)


@pytest.mark.parametrize('name', NEED_ACCELERATIONS)
def test_an_acceleration_that_is_not_finite_is_refused_with_its_name(name):
    robot, q, v, a = _one_of_each()
    a[robot.coordinate_names.index('hinge')] = math.nan
    with pytest.raises(ccd.StateError, match="'hinge'"):
        NEED_STATE[name](robot, q, v, a)


@pytest.mark.parametrize('joint, first', [('ball', 0), ('plane', 2), ('flight', 3)])
@pytest.mark.parametrize('name', NEED_STATE)
def test_an_orientation_that_is_not_of_unit_length_is_refused(name, joint, first):
    robot, q, v, a = _one_of_each()
    places = robot.joint_slices(joint)[0]
    for factor in (1.0 + 2e-6, 1.0 - 2e-6, 2.0, 0.0):
        bad = q.copy()
        bad[places.start + first : places.stop] *= factor
        with pytest.raises(ccd.StateError, match=f'orientation of joint {joint!r}'):
            NEED_STATE[name](robot, bad, v, a)


@pytest.mark.parametrize('name', NEED_STATE)
def test_an_orientation_within_the_tolerance_counts_as_normalised(name):
    robot, q, v, a = _one_of_each()
    nearly = q.copy()
    for joint, first in (('ball', 0), ('plane', 2), ('flight', 3)):
        places = robot.joint_slices(joint)[0]
        nearly[places.start + first : places.stop] *= 1.0 + 5e-7
    expected, actual = (_flat(NEED_STATE[name](robot, x, v, a)) for x in (q, nearly))
    assert relative_error(actual, expected, at_least=UNIT) <= 1e-13


def _flat(result):
    values = result.values() if isinstance(result, dict) else [result]
    return np.concatenate([np.ravel(each) for each in values])


def test_an_unknown_link_is_refused_with_the_nearest_names():
    robot, q, v, a = _one_of_each()
    for call in (
        lambda: ccd.link_placement(robot, q, 'bal_link'),
        lambda: ccd.jacobian(robot, q, 'bal_link'),
        lambda: ccd.jacobian_bias(robot, q, v, 'bal_link'),
        lambda: ccd.newton_euler(robot, q, v, a, wrenches={'bal_link': np.zeros(6)}),
        lambda: ccd.joint_wrenches(robot, q, v, a, wrenches={'bal_link': np.zeros(6)}),
    ):
        with pytest.raises(ccd.NameNotFound, match="'bal_link'.*'ball_link'"):
            call()


@pytest.mark.parametrize('function', [ccd.newton_euler, ccd.joint_wrenches])
def test_a_wrench_that_is_not_six_finite_numbers_is_refused_with_the_link(function):
    robot, q, v, a = _one_of_each()
    with pytest.raises(ccd.StateError, match="wrench on link 'ball_link' has shape"):
        function(robot, q, v, a, wrenches={'ball_link': (1.0, 2.0, 3.0)})
    with pytest.raises(ccd.StateError, match="wrench on link 'ball_link' is not finite"):
        function(robot, q, v, a, wrenches={'ball_link': (0.0, 0.0, math.nan, 0.0, 0.0, 0.0)})


def test_a_point_that_is_not_three_numbers_is_refused():
    robot, q, _, _ = _one_of_each()
    with pytest.raises(ccd.StateError, match='point has shape'):
        ccd.jacobian(robot, q, 'ball_link', point=(1.0, 2.0))


def test_a_bad_state_leaves_the_robot_usable():
    robot, q, v, a = _one_of_each()
    before = ccd.newton_euler(robot, q, v, a)
    with pytest.raises(ccd.StateError):
        ccd.newton_euler(robot, np.full(robot.nq, math.nan), v, a)
    np.testing.assert_array_equal(ccd.newton_euler(robot, q, v, a), before)
