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
The human figure, the high bar and the swing of papers 1 and 2: counts, masses, accelerations.

The papers give numbers of joint variables and no other data. Masses, lengths and postures are
those of the reference model: 1.70 m, 65 kg, Winter's segments. Its accelerations, from rest and
without torques, were found by two methods that share no code with this package.

Of the two readings that give the 30 variables that paper 2 counts for the swing, this is the one
in which the swing moves: rods and plate are one body that hangs on two spherical joints (6), hands
on the rods are spherical (6), thighs slide on the plate (2), and the figure has 16. An immobile
swing needs the free joint of the figure to reach 30, and is at odds with 'including the swing'.
"""

import math

from helpers.figures import HANDS, NAMES, THIGHS, counts, load
from helpers.posed_figures import posed
from helpers.random_mechanisms import pinocchio_model
import numpy as np
import pinocchio as pin
import pytest
from urdf_parser_py.urdf import URDF

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import JointType
from closed_chain_dynamics.model import library

CLOSED = 1e-12  # what is asked of every assembly [m or rad]
# Postures are tabulated with ten decimals.
TEN_DECIMALS = 5.1e-11
# Accelerations of the high bar have ten decimals, those of the swing twelve; on top comes rounding
# of the solution, 1e-16 times a condition of some hundred and accelerations of some ten.
PRINTED_10, PRINTED_12 = 6e-11, 3e-12
ROUNDING = 1e-12
WRITTEN = 1e-15  # of moments: all digits of a double are in the files
TWO_TREES = 2e-11  # two ways to the same accelerations, each with rounding as above
Z_UP = (0.0, 0.0, 0.0, 1.0)
HIGH_BAR = {
    'root': (0.1091991440, 0, 1.4557346112, 0, 0.0643526532, 0, 0.9979272198),
    'left_shoulder': (0.0583037641, 0.9969545316, -0.0470651902, -0.0216148314),
    'right_shoulder': (-0.0583037641, 0.9969545316, 0.0470651902, -0.0216148314),
    'left_elbow': -0.9133331595,
    'right_elbow': -0.9133331595,
    'left_hip': Z_UP,
    'right_hip': Z_UP,
    'left_knee': 0,
    'right_knee': 0,
}
SWING = {
    'left_ceiling': Z_UP,
    'root': (-0.15, 0, 0.575, *Z_UP),
    'left_shoulder': (0.0102257953, -0.6895992507, 0.1303483940, 0.7122903922),
    'right_shoulder': (-0.0102257953, -0.6895992507, -0.1303483940, 0.7122903922),
    'left_elbow': -2.0845053938,
    'right_elbow': -2.0845053938,
    'left_hip': (0.0493252756, -0.7053843046, 0.0493252756, 0.7053843046),
    'right_hip': (-0.0493252756, -0.7053843046, -0.0493252756, 0.7053843046),
    'left_knee': math.pi / 2,
    'right_knee': math.pi / 2,
}


def mirrored(values):
    """Return the other side's accelerations: turns about x and z change their sign."""
    x, y, z = values
    return -x, y, -z


def both_sides(**left):
    """Return accelerations by joint from those of the left side."""
    table = {}
    for name, value in left.items():
        table[f'left_{name}'] = value
        table[f'right_{name}'] = mirrored(value) if np.size(value) == 3 else value
    return table


# accelerations by joint; loop joints in axes of the parent's frame, the child against it
HIGH_BAR_BOTH = {
    'root': (0.8486282154, 0, -2.7136116846, 0, -13.8964155697, 0),
    **both_sides(
        shoulder=(2.9678595416, 24.8085865963, -2.2913301005),
        elbow=0,
        hip=(0, 12.6225705158, 0),
        knee=1.5935476797,
        grip=11.1939083181,
    ),
}
HIGH_BAR_LEFT = {
    'root': (1.2526468592, 0.1121722510, -9.4414229251, 4.5592507903, -0.2477957026, 1.7464971044),
    'left_shoulder': (8.2758455818, -25.1232453550, -0.9886778615),
    'left_elbow': 56.6819112760,
    'right_shoulder': (12.6135596807, 0.0167982709, -5.7954033191),
    'right_elbow': 2.5678764966,
    'left_hip': (-4.7519546084, -0.2616752624, -1.7464971044),
    'left_knee': 0.6373351859,
    'right_hip': (-4.7519546084, 0.7118372073, -1.7464971044),
    'right_knee': -0.5805040895,
    'left_grip': 32.0257147792,
}
SWING_SEATED = {
    'left_ceiling': (0, -0.430559343877, 0),
    'right_ceiling': (0, -0.430559343877, 0),
    'root': (0.785770802575, 0, -0.064583901581, 0, -2.494795247990, 0),
    **both_sides(
        shoulder=(7.336144583560, 3.712829644913, -4.572823720291),
        elbow=1.613853866489,
        hip=(0, 2.044146902194, -0.287286111889),
        knee=2.513303202907,
        hand=(3.525346402680, 5.227822693998, 6.123814620089),
        thigh=0,
    ),
}
SWING_THIGHS_CUT = {
    'left_ceiling': (0, -0.887530989227, 0),
    'root': (-0.015797827474, 0, -9.901833041075, 0, -0.843921805318, 0),
    **both_sides(
        shoulder=(0.734120298731, -28.577525676314, -6.880597332688),
        elbow=32.257562534877,
        hip=(-0.006692201355, 0.580703420774, -0.118956577527),
        knee=0.213047837827,
    ),
}
SWING_FREE_FALL = {
    'left_ceiling': (0, 0, 0),
    'right_ceiling': (0, 0, 0),
    'root': (0, 0, -9.81, 0, 0, 0),
    **both_sides(shoulder=(0, 0, 0), elbow=0, hip=(0, 0, 0), knee=0),
}


def rows(robot, q):
    """Return the rank of J_C by its singular values, and how many rows it has."""
    J_C, _, _ = ccd.constraint_jacobian(robot, q)
    return np.linalg.matrix_rank(J_C, tol=1e-8) if J_C.size else 0, len(J_C)


@pytest.fixture(params=NAMES)
def name(request):
    return request.param


def test_a_figure_needs_no_warning_and_is_seen_in_colour(name):
    description = ccd.load(name).description
    assert description.notes == ()
    for link in description.links:
        assert link.visuals, link.name
        assert all(len(shape.rgba) == 4 for shape in link.visuals), link.name
        if link.inertia:
            assert link.collisions, link.name
    about = library.about(library.find(name))
    assert about.startswith('A ') and about.endswith('.') and len(about) < 100


def test_other_parsers_see_the_same_tree(name, capsys):
    description = ccd.load(name).description
    plain = URDF.from_xml_file(str(library.find(name)))
    capsys.readouterr()  # it prints the tags it skips
    assert {link.name for link in plain.links} == {link.name for link in description.links}
    assert [(joint.name, joint.parent, joint.child) for joint in plain.joints] == [
        (joint.name, joint.parent, joint.child) for joint in description.joints
    ]
    peer = pin.buildModelFromUrdf(str(library.find(name)))
    assert pin.computeTotalMass(peer) == pytest.approx(
        sum(link.inertia.mass for link in description.links if link.inertia), abs=ROUNDING
    )


def test_the_sixteen_joints_of_the_figure_are_actuated_and_nothing_else(name):
    robot = ccd.load(name)
    wanted = []
    for side in ('left', 'right'):
        for joint, parts in (('hip', 3), ('knee', 1), ('shoulder', 3), ('elbow', 1)):
            wanted += (
                [f'{side}_{joint}']
                if parts == 1
                else [f'{side}_{joint}:{part}' for part in ('wx', 'wy', 'wz')]
            )
    assert sorted(robot.actuator_names) == sorted(wanted)
    assert len(robot.actuator_names) == 16


# mass, centre of mass, moment about x and y, about z; masses are shares of 65 kg, moments shares
# of a segment's length and of its radius
SEGMENTS = {
    'torso': (0.578, 0.323136, 0.503 * 0.4896, 0.35),
    'upper_arm': (0.028, -0.436 * 0.3162, 0.322 * 0.3162, 0.045),
    'forearm': (0.022, -0.682 * 0.2482, 0.468 * 0.2482, 0.035),
    'thigh': (0.100, -0.433 * 0.4165, 0.323 * 0.4165, 0.075),
    'shank': (0.061, -0.606 * 0.4182, 0.416 * 0.4182, 0.050),
}


def test_segments_have_the_masses_and_moments_of_the_table(name):
    links = {link.name: link.inertia for link in ccd.load(name).description.links}
    for segment, (share, com, gyration, radius) in SEGMENTS.items():
        mass = 65 * share
        about_z = radius if segment == 'torso' else mass * radius**2 / 2
        for each in [segment] if segment == 'torso' else [f'left_{segment}', f'right_{segment}']:
            inertia = links[each]
            assert inertia.mass == pytest.approx(mass, abs=100 * WRITTEN)
            assert inertia.origin.position == pytest.approx([0, 0, com], abs=WRITTEN)
            assert inertia.tensor == pytest.approx(
                np.diag([mass * gyration**2] * 2 + [about_z]), abs=WRITTEN
            )


@pytest.mark.parametrize('name, mass', [('figure', 65.0), ('high_bar', 65.0), ('swing', 71.0)])
def test_the_whole_weighs_what_it_should_and_balances_where_pinocchio_says(name, mass):
    robot, q = load(name)
    assert robot.total_mass == pytest.approx(mass, abs=ROUNDING)
    peer = pinocchio_model(robot.description)
    expected = pin.centerOfMass(peer, peer.createData(), q)
    assert ccd.center_of_mass(robot, q) == pytest.approx(expected, abs=ROUNDING)
    if name == 'swing':
        assert expected == pytest.approx([-0.0423489875, 0, 0.8034699685], abs=TEN_DECIMALS)


@pytest.mark.parametrize('name, posture', [('high_bar', HIGH_BAR), ('swing', SWING)])
def test_a_figure_is_assembled_in_the_tabulated_posture(name, posture):
    robot, q = load(name)
    assert max(max(gap) for gap in robot.loop_gaps(q).values()) < CLOSED
    assert set(posture) == set(robot.joint_names)
    for joint, value in posture.items():
        assert q[robot.joint_slices(joint)[0]] == pytest.approx(
            np.atleast_1d(value), abs=TEN_DECIMALS
        ), joint


def test_the_figure_stands_on_the_floor():
    robot, q = load('figure')
    assert np.array_equal(q, [0, 0, 0.901, *Z_UP] + 2 * [*Z_UP, 0, *Z_UP, 0])
    lowest = {}
    for link in robot.description.links:
        X = ccd.link_placement(robot, q, link.name)
        for shape in link.collisions:
            half = {
                'box': lambda size: size[2] / 2,
                'cylinder': lambda size: size[1] / 2,
                'sphere': lambda size: size[0],
            }[shape.geometry.kind](shape.geometry.size)
            at = X[:3, :3] @ shape.origin.position + X[:3, 3]
            lowest[link.name] = min(lowest.get(link.name, math.inf), at[2] - half)
    assert min(lowest.values()) == pytest.approx(0, abs=ROUNDING)
    assert [link for link, z in lowest.items() if z < 1e-3] == ['left_shank', 'right_shank']


def test_elbows_and_knees_are_away_from_their_stops_in_every_posture(name):
    robot, q = load(name)
    for joint in robot.description.joints:
        if joint.type is JointType.REVOLUTE:
            angle = q[robot.joint_slices(joint.name)[0]][0]
            zone = joint.limit_moment.transition
            assert joint.limit.lower + zone < angle < joint.limit.upper - zone, joint.name


# --- counts --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    'name, cuts, expected',
    [
        ('figure', (), (22, 0, 22)),
        ('high_bar', (), (24, 12, 12)),
        ('high_bar', ('right_grip',), (23, 6, 17)),
        ('high_bar', ('left_grip',), (23, 6, 17)),
        ('high_bar', ('left_grip', 'right_grip'), (22, 0, 22)),
        # paper 2 leaves out the free joint, whose six variables one more loop takes away: 30, 28
        ('swing', (), (30 + 6, 23 + 6, 7)),
        ('swing', ('left_thigh',), (29 + 6, 17 + 6, 12)),
        ('swing', ('right_thigh',), (29 + 6, 17 + 6, 12)),
        ('swing', THIGHS, (28 + 6, 11 + 6, 17)),
        ('swing', THIGHS + HANDS, (28, 5, 23)),
    ],
)
def test_joint_variables_rank_and_mobility_are_those_of_the_papers(name, cuts, expected):
    robot, q = load(name, *cuts)
    assert counts(robot, q) == expected
    N_J, m, N_F = expected
    assert N_J - m == N_F
    rank, n_rows = rows(robot, q)
    assert robot.nv - rank == N_F
    # the distance between the two ceiling joints of the rigid swing is given twice
    assert n_rows - rank == (1 if name == 'swing' else 0)
    assert len(ccd.coordinates(robot, q).redundant_rows) == n_rows - rank


@pytest.mark.parametrize(
    'cuts, cut, expected',
    [
        ((), ('right_ceiling', 'right_hand', *THIGHS), (30, 23, 7)),
        (THIGHS, ('right_ceiling', 'right_hand'), (28, 11, 17)),
        ((), ('left_ceiling', 'left_hand', 'right_hand', 'left_thigh'), (30, 23, 7)),
    ],
    ids=['seated', 'thighs cut', 'another tree'],
)
def test_the_swing_without_a_free_joint_has_the_published_count_and_moves_the_same(
    cuts, cut, expected
):
    robot, q = load('swing', *cuts)
    other = posed(robot, q, cut=cut)
    assert counts(other, other.neutral()) == expected
    a = ccd.forward_dynamics(robot, q, np.zeros(robot.nv)).acceleration
    b = ccd.forward_dynamics(other, other.neutral(), np.zeros(other.nv)).acceleration
    one = ccd.link_accelerations(robot, q, np.zeros(robot.nv), a)
    two = ccd.link_accelerations(other, other.neutral(), np.zeros(other.nv), b)
    X, Y = ccd.link_placements(robot, q), ccd.link_placements(other, other.neutral())
    for link in two:
        if link == 'ground':
            continue
        # the frames stand in different joints of the same body
        arm = Y[link][:3, 3] - X[link][:3, 3]
        linear = one[link][:3] + np.cross(one[link][3:], arm)
        assert two[link] == pytest.approx(np.r_[linear, one[link][3:]], abs=TWO_TREES), link


# --- accelerations -------------------------------------------------------------------------------
@pytest.mark.parametrize(
    'name, cuts, table, printed',
    [
        ('high_bar', (), HIGH_BAR_BOTH, PRINTED_10),
        ('high_bar', ('right_grip',), HIGH_BAR_LEFT, PRINTED_10),
        ('swing', (), SWING_SEATED, PRINTED_12),
        ('swing', THIGHS, SWING_THIGHS_CUT, PRINTED_12),
        ('swing', THIGHS + HANDS, SWING_FREE_FALL, PRINTED_12),
    ],
    ids=['both hands', 'left hand', 'seated', 'thighs cut', 'thighs and hands cut'],
)
def test_accelerations_from_rest_are_those_of_the_reference(name, cuts, table, printed):
    """
    The posture has one free parameter that its closed form leaves open on the swing, two on the
    bar; their digits beyond the tenth were chosen so that these accelerations come out.
    """
    robot, q = load(name, *cuts)
    result = ccd.forward_dynamics(robot, q, np.zeros(robot.nv))
    for joint in robot.joint_names:
        assert result.acceleration[robot.joint_slices(joint)[1]] == pytest.approx(
            np.atleast_1d(table[joint]), abs=printed
        ), joint
    assert max(result.check().values()) < ROUNDING
    rates = dict(
        zip(robot.loop_coordinate_names, ccd.loop_jacobian(robot, q) @ result.acceleration)
    )  # at rest, L' v = 0
    for loop in robot.description.loops:
        if loop.name not in table:
            continue
        value = rates.get(loop.name)
        if value is None:
            value = in_parent_axes(robot, q, loop, [rates[f'{loop.name}:w{k}'] for k in 'xyz'])
        assert value == pytest.approx(table[loop.name], abs=printed), loop.name


def in_parent_axes(robot, q, loop, rates):
    """Return rates of a spherical loop joint, given in the child's axes, in the parent's."""
    R_1, R_2 = (
        ccd.link_placement(robot, q, link)[:3, :3] @ origin.rotation
        for link, origin in ((loop.parent, loop.parent_origin), (loop.child, loop.child_origin))
    )
    return R_1.T @ R_2 @ rates
