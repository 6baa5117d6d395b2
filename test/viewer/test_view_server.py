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

"""The server of the view: who reaches it, what it costs, shapes, and the command."""

import json
from pathlib import Path
import re
import socket
import subprocess
import sys
import time
import urllib.request

import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics import viewer
from closed_chain_dynamics.cli.main import main
from closed_chain_dynamics.viewer.meshes import find_mesh, load_meshes

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 300.0  # only what is broken takes as long, on a machine however busy [s]
IDLE_SHARE = 0.1  # of a core, while nobody looks
TRIALS = 30  # the quietest counts: on a busy machine, starting goes on for a while


@pytest.fixture
def four_bar():
    robot = ccd.load('four_bar')
    return robot, ccd.assemble(robot, {'crank': 1.0})


# --- shapes --------------------------------------------------------------------------------------
def test_meshes_are_found_beside_the_model_and_in_packages(tmp_path, monkeypatch):
    model = tmp_path / 'arm_description' / 'urdf' / 'arm.urdf'
    mesh = tmp_path / 'arm_description' / 'meshes' / 'arm link.stl'
    installed = tmp_path / 'there' / 'share' / 'other' / 'x.stl'
    for path in (model, mesh, installed):
        path.parent.mkdir(parents=True)
        path.touch()
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(tmp_path / 'there'))
    assert find_mesh('../meshes/arm link.stl', model).samefile(mesh)
    assert find_mesh('package://arm_description/meshes/arm%20link.stl', model).samefile(mesh)
    assert find_mesh(f'file://{mesh}', model) == mesh
    assert find_mesh('package://other/x.stl', model) == installed
    assert find_mesh('package://other/y.stl', model) is None


# --- the server ----------------------------------------------------------------------------------
@pytest.fixture
def view(four_bar):
    pytest.importorskip('viser', reason='the view needs viser: pip install viser')
    shown = viewer.open_view(
        viewer.SimulationSource(ccd.Simulation(*four_bar, log_every=0)), port=0
    )
    yield shown
    shown.stop()


def port_of(address):
    return int(address.rpartition(':')[2])


def test_nobody_else_reaches_the_page(view):
    with urllib.request.urlopen(view.address, timeout=PATIENCE) as answer:
        assert answer.status == 200
    # the other addresses of this machine do not answer, not even on the loopback
    with pytest.raises(OSError):
        socket.create_connection(('127.0.0.2', port_of(view.address)), timeout=2).close()


def test_pages_from_elsewhere_may_not_talk_to_it(view):
    import viser
    from websockets.exceptions import ConnectionClosed
    from websockets.sync.client import connect

    address = view.address.replace('http', 'ws')
    speaks = {
        'subprotocols': [f'viser-v{viser.__version__}'],
        'max_size': None,
        'open_timeout': PATIENCE,
    }
    with connect(address, origin=view.address, **speaks) as friend:
        assert len(friend.recv(timeout=PATIENCE)) > 0
    with connect(address, origin='http://example.com', **speaks) as stranger:
        with pytest.raises(ConnectionClosed, match='1008'):
            stranger.recv(timeout=PATIENCE)


def test_the_view_is_never_passed_on_to_other_computers(view):
    assert view.server.request_share_url() is None


def test_a_port_that_is_taken_gives_way_to_the_next(view, four_bar):
    other = viewer.open_view(viewer.ModelSource(*four_bar), port=port_of(view.address))
    try:
        assert port_of(other.address) > port_of(view.address)
    finally:
        other.stop()


@pytest.mark.parametrize('port', [99999, -5, 65536])
def test_a_port_that_does_not_exist_is_refused(four_bar, port):
    pytest.importorskip('viser')
    with pytest.raises(ccd.ClosedChainError, match=f'no port from {port} upwards is free'):
        viewer.open_view(viewer.ModelSource(*four_bar), port=port)


def test_nobody_looking_costs_next_to_nothing(view):
    def share():
        before, start = time.process_time(), time.monotonic()
        time.sleep(1.0)
        return (time.process_time() - before) / (time.monotonic() - start)

    time.sleep(0.3)  # what starting has left to do
    assert any(share() < IDLE_SHARE for _ in range(TRIALS))
    assert view.source.sim.time == 0.0, 'the motion waits for somebody to look'


def test_a_null_viewer_takes_the_same_calls(four_bar):
    source = viewer.ModelSource(*four_bar)
    nobody = viewer.NullViewer(source)
    assert nobody.source is source and nobody.address == ''
    nobody.stop()


def test_no_other_module_imports_viser():
    package = ROOT / 'closed_chain_dynamics'
    importing = {
        path.relative_to(package).parts[0]
        for path in package.rglob('*.py')
        if re.search(r'^\s*(import|from) viser', path.read_text(), re.MULTILINE)
    }
    assert importing == {'viewer'}


def test_without_viser_the_view_says_how_to_get_it(monkeypatch, four_bar):
    monkeypatch.setitem(sys.modules, 'viser', None)
    for name in ('window', 'panel', 'scene'):
        monkeypatch.delitem(sys.modules, f'closed_chain_dynamics.viewer.{name}', raising=False)
    with pytest.raises(ccd.ClosedChainError, match='pip install viser'):
        viewer.open_view(viewer.ModelSource(*four_bar))


# --- the command ---------------------------------------------------------------------------------
def page_of_a_view(seconds):
    """Return how the page of a view that ends by itself begins; nothing: it was over before."""
    words = ['view', 'four_bar', '--simulate', '--hold', '--q', 'crank=1', '--port', '0']
    words += ['--time', str(seconds), '--json']
    with subprocess.Popen(
        [sys.executable, '-m', 'closed_chain_dynamics.cli', *words],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        said = json.loads(process.stdout.readline())
        assert (said['name'], said['kind']) == ('four_bar', 'simulation')
        try:
            with urllib.request.urlopen(said['address'], timeout=PATIENCE) as answer:
                page = answer.read(2000)
        except OSError:
            page = b''
        rest, complaints = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0 and rest == '' and 'Traceback' not in complaints
    return page


def test_the_command_serves_the_page_until_its_time_is_over():
    # a busy machine may let this test stand still for the shorter time
    page = page_of_a_view(2) or page_of_a_view(60)
    assert b'<html' in page.lower()


@pytest.mark.parametrize(
    'arguments, complaint',
    [
        (['four_bar', '--hold'], '--hold needs --simulate'),
        (['four_bar', '--v', 'crank=1'], '--v needs --simulate'),
        (['run.npz', '--simulate'], 'a log is played'),
    ],
)
def test_arguments_that_do_not_fit_together_are_wrong_usage(arguments, complaint, capsys):
    with pytest.raises(SystemExit) as stop:
        main(['view', *arguments])
    assert stop.value.code == 2 and complaint in capsys.readouterr().err


def test_a_misspelt_model_is_answered_with_the_nearest(capsys):
    assert main(['view', 'for_bar']) == 1
    assert "Did you mean 'four_bar'" in capsys.readouterr().err


# --- shapes in the scene -------------------------------------------------------------------------
def test_a_mesh_is_drawn_and_one_that_is_missing_is_named(tmp_path):
    trimesh = pytest.importorskip('trimesh')
    pytest.importorskip('viser')
    trimesh.creation.box((0.1, 0.2, 0.3)).export(tmp_path / 'arm.stl')
    shape = '<visual> <geometry> <mesh filename="{}" scale="2 1 1"/> </geometry> </visual>'
    (tmp_path / 'arm.urdf').write_text(f"""<robot name="meshed"> <link name="base"/>
      <link name="arm"> <inertial> <origin xyz="0 0 -1"/> <mass value="1"/>
        <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/> </inertial>
        {shape.format('arm.stl')} {shape.format('leg.stl')} </link>
      <joint name="turn" type="continuous"> <parent link="base"/> <child link="arm"/>
        <axis xyz="0 1 0"/> </joint> </robot>""")
    robot = ccd.load(tmp_path / 'arm.urdf')
    ((link, _, mesh),) = load_meshes(robot)[0]
    assert link == 'arm' and mesh.extents == pytest.approx([0.2, 0.2, 0.3])
    view = viewer.open_view(viewer.ModelSource(robot), port=0)
    try:
        (note,) = view.scene.notes
        assert note == "Link 'arm' is drawn without 'leg.stl': there is no such file."
        place = robot.link_names.index('arm')
        assert view.server.scene.get_handle_by_name(f'/links/{place}/mesh0') is not None
        assert view.server.scene.get_handle_by_name(f'/links/{place}/0') is None, 'no stick'
    finally:
        view.stop()
