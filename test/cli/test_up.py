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

"""`closed-chain up`: real nodes as processes, a summary, and the demonstration on the swing."""

import json
import os
import signal
import time

from helpers.ros_helpers import (  # skips this file where there is no rclpy
    PATIENCE,
    is_alive,
    newest,
    ros,
)
import numpy as np
import pytest
from sensor_msgs.msg import JointState  # noqa: I100
from std_msgs.msg import String

import closed_chain_dynamics as ccd
from closed_chain_dynamics.cli import up
from closed_chain_dynamics.cli.main import main
from closed_chain_dynamics.control import law
from closed_chain_dynamics.ros import composition
from closed_chain_dynamics.ros.demo_programme import (
    JOINTS,
    OPEN_HANDS,
    ROUND,
    wanted_closed,
    wanted_motion,
)

__all__ = ['ros']  # a fixture: pytest finds it by its name here

CLOSED = 1e-9  # of the loops, as diagnostics says [m or rad]
PERIOD = 1.0 / 200.0  # of the demonstration here [s]
STEP = 1e-4  # of central differences [s]
FIRST = 1e-6  # their error: STEP^2 / 6 times a third derivative below 60


def report_of(process):
    """Return the JSON that a process has written between the lines of its nodes."""
    text = process.output()
    return json.loads(text[text.index('\n{\n') + 1 : text.rindex('\n}') + 2])


def number_of_simulator(ros, process):
    """Return the number of a process that `up` has started, once it has told it."""
    row = ros.wait(
        lambda: next(
            (
                line.split()
                for line in process.output().splitlines()
                if line.startswith('simulator_node ')
            ),
            None,
        ),
        'the process of the simulator',
    )
    return int(row[1])


def summary_of_a_linkage(ros, seconds):
    """Return what is reported of a linkage that runs by itself for some seconds."""
    process = ros.run(
        'closed_chain_dynamics.cli',
        *('up', 'four_bar', '--no-controller', '--rate', '200', '--v', 'crank=6'),
        *('--seconds', str(seconds), '--json'),
        warm=False,  # once with all that the starts take
    )
    assert process.wait() == 0, process.output()
    return report_of(process)


def test_a_linkage_runs_by_itself_and_is_summed_up(ros):
    """Rates, loop error and real-time factor of two seconds, exit code 0."""
    report = summary_of_a_linkage(ros, 2)
    if not report['loop_error']:  # it stood still when it was to speak of itself, once a second
        report = summary_of_a_linkage(ros, 60)
    assert [each['node'] for each in report['nodes']] == ['simulator_node']
    assert report['nodes'][0] | {'pid': 0} == {
        'node': 'simulator_node',
        'pid': 0,
        'restarts': 0,
        'exit_code': 0,
    }
    assert report['rates']['actuator_torques'] == 0.0
    # a busy machine takes several periods at once, and is late in the end
    assert 0.0 < report['rates']['joint_states'] < 205.0
    assert report['simulated'] > 0.0 and 0.0 < report['real_time_factor'] < 1.1
    assert 0.0 < report['loop_error'] < CLOSED


def test_a_crash_is_mended_and_an_interrupt_ends_all(ros):
    """The simulator is killed: it is started again; SIGINT ends everything with exit code 0."""
    process = ros.run('closed_chain_dynamics.cli', 'up', 'four_bar', '--rate', '100', '--json')
    number = number_of_simulator(ros, process)
    states, torques = (
        ros.listen(JointState, topic) for topic in ('joint_states', 'actuator_torques')
    )
    ros.wait(lambda: states and torques, 'states and torques')
    os.kill(number, signal.SIGKILL)
    ros.wait(lambda: 'starting it again' in process.output(), 'a new simulator')
    ros.next(states, 'joint states of the new one')
    assert process.end(signal.SIGINT) == 0, process.output()
    nodes = {each['node']: each for each in report_of(process)['nodes']}
    assert nodes['simulator_node']['restarts'] == 1
    assert nodes['torque_node']['restarts'] == 0
    assert {each['exit_code'] for each in nodes.values()} == {0}


def test_nodes_end_with_a_command_that_is_killed(ros):
    """No simulator stays behind that nobody sees."""
    process = ros.run('closed_chain_dynamics.cli', 'up', 'four_bar', '--no-controller')
    states = ros.listen(JointState, 'joint_states')
    ros.wait(lambda: states, 'states')
    number = number_of_simulator(ros, process)
    os.kill(process.pid, signal.SIGKILL)
    end = time.monotonic() + PATIENCE
    while is_alive(number):
        assert time.monotonic() < end, 'the simulator stays'
        time.sleep(0.05)


def test_the_figure_on_the_swing_lets_go_and_grips_again(ros):
    """The demonstration: both hands open and close by contact events, under torque control."""
    heard = ros.listen(String, 'contact/events', 100)
    process = ros.run(
        'closed_chain_dynamics.cli',
        'up',
        'swing',
        '--demo',
        '--no-viewer',
        *('--rate', '200', '--factor', '0'),  # in step: as fast as it goes is the same motion
        '--json',
    )
    ros.wait(lambda: len(heard) >= 5, 'both hands, and the next round: all have heard of them')
    assert process.end(signal.SIGINT) == 0, process.output()
    report = report_of(process)
    events = report['events'][:4]
    assert [(each['kind'], each['name']) for each in events] == [
        ('cut', 'left_hand'),
        ('connect', 'left_hand'),
        ('cut', 'right_hand'),
        ('connect', 'right_hand'),
    ]
    for number, span in enumerate(OPEN_HANDS.values()):
        times = [each['time'] for each in events[2 * number : 2 * number + 2]]
        assert times == pytest.approx(span, abs=PERIOD)  # when the programme has it
    assert [each['mobility_after'] - each['mobility_before'] for each in events] == [3, -3, 3, -3]
    assert report['loop_error'] < CLOSED
    assert 'computed_torque' in report['diagnostics']['torque_node']


REACHED = 5e-3  # of a pose that a file ends with [rad]


def test_a_file_is_followed_to_its_last_row(ros, tmp_path):
    """Two motors of a five-bar; what is reached is what stands last."""
    robot = ccd.load('five_bar')
    q = dict(zip(robot.joint_names, ccd.assemble(robot).tolist()))
    rows = [{name: q[name] + 0.1 * k / 8 for name in robot.actuator_names} for k in range(9)]
    path = tmp_path / 'motion.csv'
    lines = [f'{0.1 * k},' + ','.join(map(repr, row.values())) for k, row in enumerate(rows)]
    path.write_text('\n'.join([','.join(['time', *rows[0]]), *lines]) + '\n')
    states = ros.listen(JointState, 'joint_states')
    process = ros.run(
        'closed_chain_dynamics.cli',
        *('up', 'five_bar', '--follow', str(path), '--rate', '200', '--factor', '0'),
    )

    def is_there():
        if not states:
            return False
        time, now = newest(states)
        far = max(abs(now[name] - value) for name, value in rows[-1].items())
        return time > 2.8 and far < REACHED

    ros.wait(is_there, 'the last row')
    assert process.end(signal.SIGINT) == 0, process.output()


@pytest.mark.parametrize(
    'words, code, culprit',
    [
        (['four_baar'], 1, 'four_bar'),
        (['four_bar', '--demo'], 2, 'swing'),
        (['four_bar', '--seconds', '-1'], 2, '-1'),
        (['four_bar', '--rate', '-5'], 2, "'-5' is not a positive number"),
        (['four_bar', '--domain', '500'], 2, '500'),
        (['four_bar', '--hold', '--no-controller'], 2, '--hold'),
        (['four_bar', '--repeat'], 2, '--follow FILE'),
        (['four_bar', '--hold', '--follow', 'a.csv'], 2, 'not allowed with'),
        (['four_bar', '--follow', 'nowhere.csv'], 1, 'nowhere.csv'),
        (['four_bar', '--mode', 'soft'], 2, 'impedance'),
        (['four_bar', '--torque', 'rat_limit=2'], 2, "Did you mean 'rate_limit'"),
        (['four_bar', '--torque', 'rate_limit=-2'], 2, '--torque'),
        (['swing', '--demo', '--hold'], 2, 'its own reference'),
        (['four_bar', '--q', 'crnk=1'], 1, "Did you mean 'crank'"),
        (['four_bar', '--v', 'rockr=1'], 1, "Did you mean 'rocker'"),
    ],
)
def test_misuse_is_told_before_anything_starts(capsys, words, code, culprit):
    """A bad model or argument: one paragraph, and no process."""
    try:
        assert main(['up', *words]) == code
    except SystemExit as ended:
        assert ended.code == code
    said = capsys.readouterr().err
    assert culprit in said and 'simulator_node' not in said


def test_the_modes_are_those_of_the_controller():
    """The command names them without loading the controller, so that --help stays fast."""
    assert up.MODE_NAMES == law.MODES


def test_the_programme_is_smooth_and_comes_back():
    """Rates are derivatives, a round ends as it begins, and a hand rests when it lets go."""
    for moment in np.linspace(0.01, ROUND - 0.01, 60):
        before, now, after = (wanted_motion(moment + shift) for shift in (-STEP, 0.0, STEP))
        difference = (after - before) / (2.0 * STEP)
        assert np.abs(difference[:2] - now[1:]).max() < FIRST * 60.0
    assert np.abs(wanted_motion(0.0) - wanted_motion(ROUND)).max() < 1e-12
    for name, (begin, end) in OPEN_HANDS.items():
        elbow = JOINTS.index(name.replace('hand', 'elbow'))
        assert not wanted_closed(begin)[name] and wanted_closed(end)[name]
        assert wanted_closed(begin + ROUND + 0.01) == wanted_closed(begin + 0.01)
        for when in (begin, end):
            assert np.all(wanted_motion(when)[1:, elbow] == 0.0)
        assert wanted_motion(0.5 * (begin + end))[0, elbow] - wanted_motion(begin)[0, elbow] > 0.5


def test_the_composition_follows_its_arguments():
    """Which nodes there are, and what they are told."""

    def names(programs):
        return [each.executable for each in programs]

    assert names(composition.simulation('swing')) == ['simulator_node', 'torque_node']
    assert names(composition.simulation('swing', controller=False, viewer=True)) == [
        'simulator_node',
        'viewer_node',
    ]
    programs = composition.hardware('exo.urdf', commands='arm/commands', joint_states='measured')
    assert names(programs) == ['torque_node', 'loop_state_node', 'contact_node']
    assert programs[0].remappings == {
        'joint_states': 'measured',
        'effort_controller/commands': 'arm/commands',
    }
    taken, given = (
        {
            programs[1].remappings[before + kind]
            for kind in ('joint_states', 'multi_dof_joint_states')
        }
        for before in ('measured_', '')
    )
    assert taken == {'measured', 'multi_dof_joint_states'}
    assert not given & {'measured', 'multi_dof_joint_states'}  # what torque_node listens to
