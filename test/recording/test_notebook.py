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

"""What objects say of themselves: in one line, in a notebook, and as a figure."""

import re
import subprocess
import sys

from lxml import html
import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.control.contact_detection import ContactDetector
from closed_chain_dynamics.control.law import TorqueController
from closed_chain_dynamics.control.torque_guard import TorqueGuard
from closed_chain_dynamics.control.trajectory import Trajectory
from closed_chain_dynamics.recording.html import shown
from closed_chain_dynamics.studies.consistency import study_consistency
from closed_chain_dynamics.studies.motion.moving import Motion, move
from closed_chain_dynamics.studies.motion.torques import motion_torques
from closed_chain_dynamics.studies.motion.tracks import sines
from closed_chain_dynamics.studies.validity import study_validity
from closed_chain_dynamics.viewer.sources import ModelSource

PNG = b'\x89PNG'


@pytest.fixture(scope='module')
def log():
    robot = ccd.load('four_bar')
    sim = ccd.Simulation(robot, q=ccd.assemble(robot, {'crank': 1.0}))
    sim.run(0.05)
    sim.cut('coupler_rocker')
    sim.run(0.05)
    return sim.log


@pytest.fixture(scope='module')
def tracks():
    robot = ccd.load('four_bar')
    q = ccd.assemble(robot, {'crank': 1.0})
    return robot, q, sines(robot, q, {'crank': (0.2, 1.0)}, np.linspace(0.0, 0.2, 21))


@pytest.fixture(scope='module')
def objects(log, tracks):
    robot, q, some = tracks
    motion = move(robot, some, q)
    return {
        'Log': log,
        'MotionTorques': motion_torques(robot, motion),
        'Validity': study_validity(robot, motion),
        'Consistency': study_consistency(robot, some, start=q),
    }


@pytest.mark.parametrize('name', ['Log', 'MotionTorques', 'Validity', 'Consistency'])
def test_an_object_says_what_it_is_in_one_line_and_in_a_table(objects, name):
    line = repr(objects[name])
    assert line.startswith(f'{name}(four_bar, ') and ' at 0x' not in line and '\n' not in line
    tree = html.fromstring(objects[name]._repr_html_())
    assert tree.findall('.//table') and not tree.findall('.//script')
    assert 'four_bar' in tree.findtext('.//strong')


def test_the_log_shows_its_events(log):
    cells = [each.text for each in html.fromstring(log._repr_html_()).findall('.//td')]
    assert {'cut', 'coupler_rocker', '1 to 3'} <= set(cells)
    assert repr(log) == 'Log(four_bar, 102 samples, 0 to 0.1 s, 1 event)'
    assert ' at 0x' not in repr(log.segments)


@pytest.mark.parametrize('name', ['four_bar', 'exo_leg', 'swing'])
def test_a_mechanism_draws_its_links_joints_and_loops(name):
    robot = ccd.load(name)
    tree = html.fromstring(robot._repr_html_())
    words = [each.text for each in tree.findall('.//text')]
    description = robot.description
    named = (*description.links, *description.joints, *description.loops)
    assert sorted(words) == sorted(each.name for each in named)
    assert len(tree.findall('.//rect')) == len(description.links)
    assert not tree.findall('.//script')


def test_the_arc_of_a_loop_strikes_out_no_name():
    """Links of one column are joined beside it, not through the boxes between them."""
    tree = html.fromstring(ccd.load('five_bar')._repr_html_())
    (arc,) = [each.get('d') for each in tree.findall('.//path') if each.get('stroke-dasharray')]
    xs = [float(x) for x in re.findall(r'[MC ]([\d.]+) [\d.]+', arc)]
    boxes = [(float(b.get('x')), float(b.get('width'))) for b in tree.findall('.//rect')]
    assert min(xs) >= sorted(x + width for x, width in boxes)[-2]
    assert max(xs) < float(tree.find('.//svg').get('width'))


def test_an_open_loop_is_drawn_pale():
    robot = ccd.load('four_bar')
    assert 'opacity="1.0"' in robot._repr_html_()
    robot.cut('coupler_rocker')
    assert 'opacity="0.35"' in robot._repr_html_()


def test_coordinates_and_simulations_show_themselves():
    robot = ccd.load('four_bar')
    sim = ccd.Simulation(robot)
    assert 'Mobility 1' in ccd.coordinates(robot, sim.q)._repr_html_()
    assert 'simulation of four_bar' in sim._repr_html_()
    for each in (sim, robot, robot.structure, robot.workspace, ccd.SingularityWatch(robot)):
        assert ' at 0x' not in repr(each)
    rest = np.zeros(robot.nv)
    held = ccd.inverse_dynamics(robot, sim.q, rest, rest)
    assert repr(held).endswith('singular=False, dead_point=False)')
    assert ' at 0x' not in repr(ccd.derivatives(robot, sim.q, rest, held.tau_A))


def test_an_empty_log_shows_itself_too():
    empty = ccd.Simulation(ccd.load('four_bar'), log_every=0).log
    assert repr(empty) == 'Log(four_bar, 0 samples, 0 events)' and empty._repr_html_()


def test_names_from_a_file_are_escaped():
    assert '<script>' not in shown('<script>', [('<b>', '&')], [('', ['<i>'], [['<u>']])])


def test_plot_returns_a_figure_that_a_notebook_shows_and_writes_only_where_told(log, tmp_path):
    figure = log.plot()
    assert figure._repr_png_().startswith(PNG)
    assert [ax.get_title(loc='left') for ax in figure.axes][0] == 'Joint angles'
    # the curve is the log itself, not a copy that was smoothed
    line = next(each for each in figure.axes[0].lines if each.get_label() == 'crank')
    np.testing.assert_array_equal(line.get_ydata(), log.joint('crank'))
    assert log.plot(tmp_path / 'run.png').axes and (tmp_path / 'run.png').read_bytes()[:4] == PNG


def test_a_figure_needs_neither_a_display_nor_pyplot():
    script = (
        'import sys, closed_chain_dynamics as ccd\n'
        'sim = ccd.Simulation(ccd.load("pendulum")); sim.run(0.01); sim.log.plot()._repr_png_()\n'
        'print("matplotlib.pyplot" in sys.modules)'
    )
    done = subprocess.run([sys.executable, '-c', script], capture_output=True, text=True)
    assert done.stdout.strip() == 'False', done.stderr


def test_a_motion_of_one_sample_says_what_it_assumes():
    assert re.search(r'assumed=\[\]', repr(Motion(*np.zeros((4, 1)))))


def test_what_controls_says_what_it_is():
    robot = ccd.load('five_bar')
    parts = (
        TorqueController(robot),
        TorqueGuard(robot),
        Trajectory(robot.actuator_names, [0.5, 1.0], np.zeros((2, 2))),
        ContactDetector('force', 50.0, 20.0),
        ModelSource(robot),
    )
    assert [repr(each) for each in parts] == [
        "<TorqueController of 'five_bar': computed_torque>",
        "<TorqueGuard of 'five_bar': 2 actuators>",
        '<Trajectory of left_shoulder, right_shoulder: 2 points, 1 s>',
        '<ContactDetector: open>',
        "<ModelSource of 'five_bar'>",
    ]
