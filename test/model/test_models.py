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

"""The shipped models, judged by other parsers, other engines and closed forms."""

import math

import numpy as np
import pinocchio as pin
import pytest
from urdf_parser_py.urdf import URDF

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import JointType, LoopType
from closed_chain_dynamics.errors import DescriptionError, NameNotFound
from closed_chain_dynamics.model import library

NAMES = ['five_bar', 'four_bar', 'pendulum', 'three_link', 'two_link']
FIGURES = ['figure', 'high_bar', 'swing']  # tested with the papers' numbers on their own
PAPER_ARMS = {'two_link': 2, 'three_link': 3}

# Inertias are written with nine digits.
WRITTEN = 1e-8
# Hints are written with all digits of a double; a few roundings add up along a chain.
CLOSED = 1e-14


@pytest.fixture(params=NAMES)
def name(request):
    return request.param


@pytest.fixture
def model(name):
    return ccd.load(library.find(name)).description


@pytest.fixture
def peer(name):
    return pin.buildModelFromUrdf(str(library.find(name)))


def placements(peer, positions):
    """Return Pinocchio's world placement of every link, by name, with the joints as named."""
    q = pin.neutral(peer)
    for joint_name, value in positions:
        joint = peer.joints[peer.getJointId(joint_name)]
        # Pinocchio keeps the cosine and sine of a continuous joint.
        q[joint.idx_q : joint.idx_q + joint.nq] = (
            [math.cos(value), math.sin(value)] if joint.nq == 2 else value
        )
    data = peer.createData()
    pin.framesForwardKinematics(peer, data, q)
    return {
        frame.name: data.oMf[i]
        for i, frame in enumerate(peer.frames)
        if frame.type == pin.FrameType.BODY
    }


def placement(pose):
    return pin.SE3(pin.rpy.rpyToMatrix(np.array(pose.rpy)), np.array(pose.xyz))


def inertia_of(shape, mass):
    """Return Pinocchio's inertia of a uniform solid, at the origin of its link."""
    of_solid = {
        'box': pin.Inertia.FromBox,
        'cylinder': pin.Inertia.FromCylinder,
        'sphere': pin.Inertia.FromSphere,
    }[shape.geometry.kind]
    return placement(shape.origin).act(of_solid(mass, *shape.geometry.size))


def volume_of(shape):
    kind, size = shape.geometry.kind, shape.geometry.size
    return {
        'box': lambda: math.prod(size),
        'cylinder': lambda: math.pi * size[0] ** 2 * size[1],
        'sphere': lambda: 4 / 3 * math.pi * size[0] ** 3,
    }[kind]()


def test_the_list_is_complete():
    assert set(NAMES + FIGURES) <= set(library.shipped())


def test_nothing_needs_a_warning(model):
    assert model.notes == ()


def test_other_parsers_see_the_same_tree(name, model, peer, capsys):
    plain = URDF.from_xml_file(str(library.find(name)))
    capsys.readouterr()  # it prints the tags it skips
    assert {link.name for link in plain.links} == {link.name for link in model.links}
    assert [(joint.name, joint.type, joint.parent, joint.child) for joint in plain.joints] == [
        (joint.name, joint.type.value, joint.parent, joint.child) for joint in model.joints
    ]
    assert peer.nv == sum(joint.type.nv for joint in model.joints)


def test_masses_are_plausible(model):
    for link in model.links:
        if link.inertia:
            density = link.inertia.mass / sum(map(volume_of, link.collisions))
            # from light plastic to steel
            assert 500 < density < 8000, link.name


def test_inertia_is_that_of_the_shapes(name, model):
    for link in model.links:
        if not link.inertia or name in PAPER_ARMS:
            continue
        volumes = [volume_of(shape) for shape in link.collisions]
        share = link.inertia.mass / sum(volumes)
        solid = sum(
            (inertia_of(shape, share * volume) for shape, volume in zip(link.collisions, volumes)),
            pin.Inertia.Zero(),
        )
        np.testing.assert_allclose(
            link.inertia.origin.xyz, solid.lever, rtol=WRITTEN, atol=WRITTEN, err_msg=link.name
        )
        np.testing.assert_allclose(
            link.inertia.tensor, solid.inertia, rtol=WRITTEN, atol=1e-12, err_msg=link.name
        )


@pytest.mark.parametrize('name', PAPER_ARMS)
def test_arm_has_the_published_numbers(name, model):
    moving = [link for link in model.links if link.inertia]
    assert len(moving) == PAPER_ARMS[name]
    for link in moving:
        assert link.inertia.mass == 1
        assert link.inertia.origin.xyz == (0, 0, 0.25)
        assert link.inertia.moments[0] == 1 / 12
    for i, joint in enumerate(model.joints):
        assert (joint.axis, joint.dynamics.damping) == ((1, 0, 0), 3)
        assert joint.origin.xyz == (0, 0, 0.5 if i else 0)
    (tip,) = model.loops
    assert (tip.name, tip.type, tip.parent) == ('tip_on_floor', LoopType.SURFACE, 'world')
    assert (tip.contact.mu, tip.contact.unilateral) == (0.01, False)
    assert tip.child_origin.xyz == (0, 0, 0.5)
    assert len(model.actuators) == PAPER_ARMS[name]


def test_hints_close_the_loops(model, peer):
    assert bool(model.loops) == bool(model.assemblies)
    for hint in model.assemblies:
        X_W = placements(peer, hint.positions)
        for loop in model.loops:
            X_WP = X_W[loop.parent] * placement(loop.parent_origin)
            X_WC = X_W[loop.child] * placement(loop.child_origin)
            gap = X_WC.translation - X_WP.translation
            axis = X_WP.rotation @ loop.parent_axis
            where = f'{hint.name}, {loop.name}'
            if loop.type is LoopType.SURFACE:
                assert abs(gap @ axis) < CLOSED, where
            else:
                assert loop.type is LoopType.REVOLUTE
                np.testing.assert_allclose(gap, 0, atol=CLOSED, err_msg=where)
                np.testing.assert_allclose(
                    X_WC.rotation @ loop.child_axis, axis, atol=CLOSED, err_msg=where
                )


def test_hints_are_whole_poses_within_the_limits(model):
    movable = {joint.name: joint for joint in model.joints if joint.type is not JointType.FIXED}
    for hint in model.assemblies:
        assert {joint for joint, _ in hint.positions} == set(movable)
        for joint, value in hint.positions:
            assert movable[joint].limit.lower < value < movable[joint].limit.upper, joint


def test_hints_are_different_ways_to_assemble(model):
    poses = [np.array([value for _, value in hint.positions]) for hint in model.assemblies]
    for one, other in zip(poses, poses[1:]):
        assert max(abs(one - other)) > 0.1


def test_everything_is_seen_in_colour(model):
    for link in model.links:
        assert link.visuals or not link.inertia, link.name
        for shape in link.visuals:
            assert len(shape.rgba) == 4, (link.name, shape.material)


def test_linkages_stand_upright_above_the_ground(name, model, peer):
    for hint in model.assemblies:
        X_W = placements(peer, hint.positions)
        for link in model.links:
            for shape in link.collisions:
                p_W = (X_W[link.name] * placement(shape.origin)).translation
                plane = 0 if name in PAPER_ARMS else 1
                assert abs(p_W[plane]) < 0.1, (hint.name, link.name)
                if name not in PAPER_ARMS:
                    assert p_W[2] > 0, (hint.name, link.name)


def test_four_bar_is_a_crank_rocker():
    description = ccd.load(library.find('four_bar')).description
    joints = {joint.name: joint for joint in description.joints}
    (loop,) = description.loops
    crank = joints['coupler'].origin.xyz[0]
    coupler, rocker = loop.parent_origin.xyz[0], loop.child_origin.xyz[0]
    ground = joints['rocker'].origin.xyz[0] - joints['crank'].origin.xyz[0]
    lengths = [crank, coupler, rocker, ground]
    assert min(lengths) == crank
    assert crank + max(lengths) < sum(lengths) - crank - max(lengths)  # Grashof
    for hint in description.assemblies:
        q = dict(hint.positions)
        # Freudenstein's equation
        R1, R2 = ground / crank, ground / rocker
        R3 = (crank**2 + rocker**2 + ground**2 - coupler**2) / (2 * crank * rocker)
        assert R1 * math.cos(q['rocker']) - R2 * math.cos(q['crank']) + R3 == pytest.approx(
            math.cos(q['crank'] - q['rocker']), abs=1e-12
        )


def test_five_bar_is_symmetric():
    description = ccd.load(library.find('five_bar')).description
    assert [each.joint for each in description.actuators] == ['left_shoulder', 'right_shoulder']
    for hint in description.assemblies:
        q = dict(hint.positions)
        assert q['left_shoulder'] + q['right_shoulder'] == pytest.approx(math.pi, abs=1e-12)
        assert q['left_elbow'] == pytest.approx(-q['right_elbow'], abs=1e-12)


def test_a_model_says_what_it_is(name):
    about = library.about(library.find(name))
    assert about.startswith('A ') and about.endswith('.') and len(about) < 100


def test_find_takes_a_path_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'four_bar').write_text('<robot name="mine"/>')
    (tmp_path / 'own.urdf').write_text('<robot name="own"/>')
    assert library.find('own.urdf').read_text() == '<robot name="own"/>'
    assert library.find('four_bar').read_text() == '<robot name="mine"/>'
    assert library.find('five_bar') == library.shipped()['five_bar']


@pytest.mark.parametrize(
    'wrong, error, offer',
    [
        ('fourbar', NameNotFound, "'four_bar'"),
        ('own.urd', NameNotFound, 'five_bar'),
        ('own2.urdf', DescriptionError, "'own.urdf'"),
        ('no/such/own.urdf', DescriptionError, "'no/such'"),
        ('.', DescriptionError, 'own.urdf'),
    ],
)
def test_find_offers_the_nearest(tmp_path, monkeypatch, wrong, error, offer):
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'own.urdf').write_text('<robot name="own"/>')
    with pytest.raises(error) as caught:
        library.find(wrong)
    assert offer in str(caught.value)


def test_the_name_of_a_file_without_its_suffix_is_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'wrist.urdf').write_text('<robot name="wrist"/>')
    with pytest.raises(NameNotFound, match=r"named 'wrist'\. Did you mean 'wrist.urdf'\?"):
        ccd.load('wrist')
    with pytest.raises(NameNotFound, match="Did you mean 'four_bar'"):
        ccd.load('four_bra')
