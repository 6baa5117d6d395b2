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

"""A description has no file read that lies outside its own folder."""

from pathlib import Path

from helpers.small_files import ARM, BASE, SHOULDER, robot
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import read
from closed_chain_dynamics.description.own_files import MODEL_PATH, own_folder
from closed_chain_dynamics.viewer.meshes import find_mesh, load_meshes

ARM_XML = '<body name="arm"><joint name="swing"/><geom size="0.1" pos="0.1 0 0"/></body>'
STL = 'solid x\nendsolid x\n'


@pytest.fixture
def secret(tmp_path):
    """Return a file that is nobody's, and the folder of a model beside it."""
    (tmp_path / 'secret.stl').write_text(STL)
    (tmp_path / 'secret.xml').write_text(f'<mujocoinclude>{ARM_XML}</mujocoinclude>')
    (tmp_path / 'model').mkdir()
    return tmp_path / 'secret.stl'


def ways_to(secret: Path, folder: Path) -> list[str]:
    """Return names that lead to a file, without and with a link."""
    (folder / 'link.stl').symlink_to(secret)
    (folder / 'up').symlink_to(secret.parent)
    return [
        str(secret),
        f'file://{secret}',
        '../secret.stl',
        'x/../../secret.stl',
        '..%2fsecret.stl',
        'link.stl',
        'up/secret.stl',
        f'package://{secret.parent.name}/secret.stl',
        'package://../secret.stl',
        'package://model/../secret.stl',
        'package://up/secret.stl',
    ]


def test_no_mesh_outside_the_folder_is_read(secret, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = tmp_path / 'model' / 'arm.urdf'
    for way in ways_to(secret, model.parent):
        (model.parent / 'x').mkdir(exist_ok=True)
        assert find_mesh(way, model) is None, way
        assert find_mesh(way, None) is None, way
    shape = f'<visual><geometry><mesh filename="{secret}"/></geometry></visual>'
    model.write_text(robot(BASE, ARM.replace('</link>', f'{shape}</link>'), SHOULDER))
    meshes, (note,) = load_meshes(ccd.load(model))
    assert not meshes and 'outside the folder of the model' in note
    monkeypatch.setenv(MODEL_PATH, str(tmp_path))
    assert find_mesh('../secret.stl', model).samefile(secret), 'the user has chosen the folder'


@pytest.mark.parametrize(
    'inside',
    [
        '<asset><mesh name="m" file="{}"/></asset>',
        '<asset><texture name="t" type="2d" file="{}"/></asset>',
        '<asset><hfield name="h" size="1 1 1 1" file="{}"/></asset>',
        '<asset><skin file="{}"/></asset>',
        '<asset><model name="m" file="{}"/></asset>',
        '<include file="{}"/>',
        '<compiler meshdir="{}"/>',
        '<compiler assetdir="{}"/>',
    ],
)
def test_mujoco_reads_no_file_outside_the_folder(secret, tmp_path, monkeypatch, inside):
    monkeypatch.chdir(tmp_path)
    model = tmp_path / 'model' / 'arm.xml'
    ways = [way for way in ways_to(secret, model.parent) if '://' not in way and '%' not in way]
    for way in ways:
        way = way.replace('.stl', '.xml') if 'include' in inside or '<model' in inside else way
        if 'link' in way:
            (model.parent / way).unlink(missing_ok=True)
            (model.parent / way).symlink_to(secret)
        text = f'<mujoco>{inside.format(way)}<worldbody>{ARM_XML}</worldbody></mujoco>'
        model.write_text(text)
        for source in (model, text):
            with pytest.raises(ccd.DescriptionError, match='is not read: '):
                read(source)


def test_a_file_that_an_included_file_names_is_looked_at_too(secret, tmp_path):
    model, part = tmp_path / 'model' / 'arm.xml', tmp_path / 'model' / 'part.xml'
    part.write_text('<mujocoinclude><asset><mesh file="../secret.stl"/></asset></mujocoinclude>')
    model.write_text(
        f'<mujoco><include file="part.xml"/><worldbody>{ARM_XML}</worldbody></mujoco>'
    )
    with pytest.raises(ccd.DescriptionError, match=r'\.\./secret\.stl.*outside the folder'):
        read(model)


BOX = 'v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n'


def test_a_file_beside_an_included_file_is_read_wherever_that_stands(tmp_path):
    # from the folder of the model, the name leads out of it; MuJoCo looks beside the part
    (tmp_path / 'model' / 'parts').mkdir(parents=True)
    (tmp_path / 'model' / 'shapes').mkdir()
    (tmp_path / 'model' / 'shapes' / 'box.obj').write_text(BOX)
    (tmp_path / 'model' / 'parts' / 'part.xml').write_text(
        '<mujoco><asset><mesh name="box" file="../shapes/box.obj"/></asset></mujoco>'
    )
    model = tmp_path / 'model' / 'arm.xml'
    model.write_text(
        '<mujoco><include file="parts/part.xml"/><worldbody><body><joint axis="0 1 0"/>'
        '<geom type="mesh" mesh="box" density="6"/></body></worldbody></mujoco>'
    )
    assert ccd.load(model).total_mass == pytest.approx(1.0)
    (tmp_path / 'shapes').mkdir()
    (tmp_path / 'shapes' / 'box.obj').write_text(BOX)  # now it may be that one
    with pytest.raises(ccd.DescriptionError, match='outside the folder'):
        read(model)


def test_a_name_that_no_file_can_have_is_refused(tmp_path):
    model = tmp_path / 'arm.xml'
    model.write_text(f'<mujoco><include file="{"x" * 5000}"/></mujoco>')
    with pytest.raises(ccd.DescriptionError):
        read(model)


def test_a_yaml_beside_a_model_that_is_a_link_to_elsewhere_is_not_read(tmp_path):
    (tmp_path / 'loops.yaml').write_text('closed_loop: [[base, arm]]')
    (tmp_path / 'model').mkdir()
    model = tmp_path / 'model' / 'arm.urdf'
    model.write_text(robot(BASE, ARM, SHOULDER))
    model.with_suffix('.yaml').symlink_to(tmp_path / 'loops.yaml')
    assert not read(model).loops
    model.with_suffix('.yaml').unlink()
    model.with_suffix('.yaml').write_text((tmp_path / 'loops.yaml').read_text())
    assert read(model).loops


def test_a_model_in_a_package_has_the_package(tmp_path):
    model = tmp_path / 'robot' / 'models' / 'arm' / 'arm.xml'
    model.parent.mkdir(parents=True)
    assert own_folder(model) == model.parent
    (tmp_path / 'robot' / 'package.xml').touch()
    assert own_folder(model) == tmp_path / 'robot'
    assert own_folder(tmp_path / 'urdf' / 'arm.urdf') == tmp_path
