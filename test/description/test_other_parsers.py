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

"""Files, shipped and in the ways of others, as other parsers see them, before and after a save."""

from pathlib import Path

from helpers.own_robots import OWN_ROBOTS, own_file
from helpers.written_descriptions import by_name
import numpy as np
import pinocchio as pin
import pytest
from urdf_parser_py.urdf import URDF

from closed_chain_dynamics.description import Pose, read, write

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = sorted((ROOT / 'urdf').glob('*.urdf'))
# Axes are normalised here and not by the other parser; files write eight digits or more.
AXIS_DIGITS = 1e-7
# Total mass is a sum of a few dozen doubles.
MASS_ROUNDING = 1e-12


@pytest.fixture(params=[*SHIPPED, *OWN_ROBOTS], ids=lambda each: getattr(each, 'stem', each))
def file(request, tmp_path):
    """Return the path of a URDF file; what is its own stands in a folder for itself."""
    if isinstance(request.param, Path):
        return request.param
    (tmp_path / 'own').mkdir()
    return own_file(request.param, tmp_path / 'own')


def test_links_and_joints_agree_with_urdf_parser_py(file, capfd):
    ours, theirs = read(file), URDF.from_xml_file(str(file))
    links = by_name(ours.links)
    for link in theirs.links:
        mine = links[link.name].inertia
        if link.inertial is None:
            assert mine is None
            continue
        tensor = link.inertial.inertia
        assert mine.mass == link.inertial.mass, link.name
        assert mine.moments == tuple(
            float(getattr(tensor, key)) for key in ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')
        ), link.name
        if link.inertial.origin is not None:
            assert mine.origin == pose(link.inertial.origin), link.name
        for shapes, other in (
            (links[link.name].visuals, link.visuals),
            (links[link.name].collisions, link.collisions),
        ):
            assert len(shapes) == len(other), link.name
    joints = by_name(ours.joints)
    compared = 0
    for joint in theirs.joints:
        mine = joints.get(joint.name)
        if mine is None or mine.type.value != joint.type:
            continue  # re-typed by the YAML beside the file, or by cc:type
        assert (mine.parent, mine.child) == (joint.parent, joint.child)
        assert mine.origin == pose(joint.origin), joint.name
        if mine.type.nv == 1:
            axis = np.array(joint.axis or [1.0, 0.0, 0.0])
            assert mine.axis == pytest.approx(axis / np.linalg.norm(axis), abs=AXIS_DIGITS)
        if joint.limit is not None and 'upper=' in limit_text(file, joint.name):
            assert mine.limit.lower == joint.limit.lower, joint.name
            assert mine.limit.upper == joint.limit.upper, joint.name
            assert mine.limit.effort == joint.limit.effort, joint.name
        compared += 1
    assert compared > 0


def pose(origin):
    if origin is None:
        return Pose()
    return Pose(
        tuple(map(float, origin.xyz or (0, 0, 0))), tuple(map(float, origin.rpy or (0, 0, 0)))
    )


def limit_text(file, joint):
    """Return the text of a joint, because the other parser turns 'not given' into zero."""
    text = file.read_text().split(f'name="{joint}"')
    return max((part.split('</joint>')[0] for part in text[1:]), key=len)


def test_total_mass_agrees_with_pinocchio(file):
    # A free root makes pinocchio count the mass of the root link as well.
    theirs = pin.buildModelFromUrdf(str(file), pin.JointModelFreeFlyer())
    total = sum(link.inertia.mass for link in read(file).links if link.inertia)
    assert total == pytest.approx(pin.computeTotalMass(theirs), rel=MASS_ROUNDING)


def test_files_survive_a_save_and_stay_plain_urdf(file, tmp_path, capfd):
    first = read(file)
    write(first, tmp_path / 'saved.urdf')
    assert read(tmp_path / 'saved.urdf') == first
    theirs = pin.buildModelFromUrdf(str(tmp_path / 'saved.urdf'), pin.JointModelFreeFlyer())
    total = sum(link.inertia.mass for link in first.links if link.inertia)
    assert total == pytest.approx(pin.computeTotalMass(theirs), rel=MASS_ROUNDING)
    parsed = URDF.from_xml_file(str(tmp_path / 'saved.urdf'))
    assert [joint.name for joint in parsed.joints] == [joint.name for joint in first.joints]
