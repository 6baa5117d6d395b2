"""closed-chain zoo: every robot in a folder is judged, whatever the others do."""

import json
import os
from pathlib import Path
import shutil

import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.cli.main import main
from closed_chain_dynamics.model import library
from closed_chain_dynamics.studies import zoo
from closed_chain_dynamics.studies.other_engines import Unreadable, differences

# A four-bar as MuJoCo writes it: the loop is a connect.
LOOP = """<mujoco><worldbody>
  <body name="crank"><joint name="crank" axis="0 1 0" damping="0.1" armature="0.02"/>
    <geom type="capsule" fromto="0 0 0 0 0 0.3" size="0.02" mass="1"/>
    <body name="coupler" pos="0 0 0.3"><joint name="coupler" axis="0 1 0"/>
      <geom type="capsule" fromto="0 0 0 0.5 0 0" size="0.02" mass="1"/></body></body>
  <body name="rocker" pos="0.5 0 0"><joint name="rocker" axis="0 1 0"/>
    <geom type="capsule" fromto="0 0 0 0 0 0.3" size="0.02" mass="2"/></body>
</worldbody>
<equality><connect body1="coupler" body2="rocker" anchor="0.5 0 0"/></equality></mujoco>"""


@pytest.fixture
def folder(tmp_path):
    for name in ('four_bar', 'pendulum'):
        shutil.copy(library.shipped()[name], tmp_path)
    (tmp_path / 'deep').mkdir()
    (tmp_path / 'deep' / 'loop.xml').write_text(LOOP)
    (tmp_path / 'broken.urdf').write_text('<robot name="broken"><link name="a"/><joint/></robot>')
    (tmp_path / 'package.xml').write_text('<package><name>none</name></package>')
    (tmp_path / '.git').mkdir()
    shutil.copy(library.shipped()['pendulum'], tmp_path / '.git')
    return tmp_path


def test_every_robot_is_judged_and_nothing_else(folder, capsys):
    pytest.importorskip('mujoco')
    pytest.importorskip('pinocchio')
    assert main(['zoo', str(folder), '--json']) == 0
    out = capsys.readouterr()
    report = json.loads(out.out)
    found = {Path(each['file']).name: each for each in report['files']}
    assert sorted(found) == ['broken.urdf', 'four_bar.urdf', 'loop.xml', 'pendulum.urdf']
    four_bar, loop = found['four_bar.urdf'], found['loop.xml']
    assert (four_bar['mobility'], four_bar['loops'], four_bar['engine']) == (1, 1, 'pinocchio')
    assert (loop['mobility'], loop['redundant'], loop['engine']) == (1, 1, 'mujoco')
    assert loop['differences'].keys() == {'M', 'bias', 'acceleration'}
    assert loop['agrees'] and max(loop['differences'].values()) < 1e-9
    assert all(found[name]['simulates'] for name in found if name != 'broken.urdf')
    # Pinocchio cannot read it either: it is told of, and not held against anybody
    assert not found['broken.urdf']['loads'] and 'joint' in found['broken.urdf']['why']
    assert report['summary']['compared'] == report['summary']['agree'] == 3


def test_the_table_and_the_exit_code(folder, capsys):
    (folder / 'broken.urdf').unlink()
    assert main(['zoo', str(folder)]) == 0
    out = capsys.readouterr().out
    assert 'deep/loop.xml' in out and 'square' in out
    assert '3 of 3 files that their own tool reads load, 3 close, 3 simulate' in out


def test_a_difference_is_found(tmp_path):
    pytest.importorskip('mujoco')
    path = tmp_path / 'loop.xml'
    path.write_text(LOOP)
    heavier = ccd.load(LOOP.replace('mass="2"', 'mass="2.001"'))
    q = ccd.assemble(heavier, {'crank': 0.5})
    found = differences(heavier, path, q)
    assert found['M'] > 1e-4 and found['acceleration'] > 1e-5
    light = ccd.load(path)
    assert max(differences(light, path, ccd.assemble(light, {'crank': 0.5})).values()) < 1e-9
    path.write_text('<mujoco><worldbody><nothing/></worldbody></mujoco>')
    with pytest.raises(Unreadable, match='nothing'):
        differences(light, path, None)


def _crash(path):
    os._exit(7) if 'crash' in path.name else None
    return zoo.Specimen(str(path), loads=True)


def _serve_crashing(there):
    zoo.judge = _crash
    zoo._serve(there)


def test_one_that_crashes_spoils_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(zoo, '_serve', _serve_crashing)
    files = [tmp_path / f'{name}.urdf' for name in ('first', 'crash', 'last')]
    for path in files:
        path.touch()
    first, crash, last = zoo.visit(files)
    assert first.loads and last.loads
    assert not crash.loads and 'exit code 7' in crash.why


def test_patience_ends(folder, monkeypatch):
    (specimen,) = zoo.visit([folder / 'four_bar.urdf'], patience=1e-6)
    assert not specimen.loads and specimen.why == 'took more than 1e-06 s'


def test_bad_input(tmp_path, capsys):
    assert main(['zoo', str(tmp_path)]) == 1
    assert 'there is no robot' in capsys.readouterr().err
    assert main(['zoo', str(tmp_path / 'nowhere')]) == 1
    assert 'is no folder' in capsys.readouterr().err
