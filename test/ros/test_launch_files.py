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

"""Launch files and configuration: what they name exists, and ROS 2's own launch starts them."""

import ast
from importlib import import_module
import os
from pathlib import Path
import re
import shutil
import signal
import subprocess
from urllib.request import urlopen

from helpers.ros_helpers import PATIENCE, ros  # skips this file where there is no rclpy
import pytest
from sensor_msgs.msg import JointState  # noqa: I100
import yaml

from closed_chain_dynamics.model.library import share_folder
from closed_chain_dynamics.ros import composition
from closed_chain_dynamics.ros.messages.measured_states import seconds

__all__ = ['ros']  # a fixture: pytest finds it by its name here

SHARE = share_folder()
LAUNCH = sorted((SHARE / 'launch').glob('*.launch.py'))
CONFIG = sorted((SHARE / 'config').glob('*.yaml'))
PROGRAMS = {
    each.executable: each
    for each in (
        *composition.simulation('swing', viewer=True, demo=True, reference={}),
        *composition.hardware('swing'),
        *composition.view('swing'),
    )
}


def settings_of(executable):
    """Return the Settings of a node by name."""
    from closed_chain_dynamics.ros.managed_node import AUTOSTART
    from closed_chain_dynamics.ros.model_source import MODEL_SETTINGS

    module = import_module(PROGRAMS[executable].module)
    of_all = [AUTOSTART, *MODEL_SETTINGS] if hasattr(module, 'ManagedNode') else []
    return {each.name: each for each in (*of_all, *getattr(module, 'SETTINGS', []))}


def test_the_files_are_there():
    """Three launch files, a YAML for every node that has parameters, one RViz configuration."""
    assert [path.name for path in LAUNCH] == [
        'simulation.launch.py',
        'torque.launch.py',
        'view.launch.py',
    ]
    assert {path.stem for path in CONFIG} == set(PROGRAMS) - {'demo_node'}
    displays = yaml.safe_load((SHARE / 'config' / 'mechanism.rviz').read_text())
    kinds = {
        each['Class'].rpartition('/')[2] for each in displays['Visualization Manager']['Displays']
    }
    assert {'RobotModel', 'TF', 'MarkerArray', 'Wrench'} <= kinds


@pytest.mark.parametrize('executable', sorted(PROGRAMS))
def test_what_the_compositions_name_exists(executable):
    """A program with `main`, installed under its name, that knows its parameters."""
    assert callable(import_module(PROGRAMS[executable].module).main)
    installed = ast.parse((Path(__file__).resolve().parents[2] / 'setup.py').read_text())
    nodes = next(
        ast.literal_eval(each.value)
        for each in installed.body
        if isinstance(each, ast.Assign) and each.targets[0].id == 'NODES'
    )
    assert executable in nodes
    assert set(PROGRAMS[executable].parameters) <= {*settings_of(executable), 'use_sim_time'}


@pytest.mark.parametrize('path', CONFIG, ids=lambda path: path.stem)
def test_a_configuration_has_the_defaults(path):
    """Every value of a YAML is a parameter of its node, and its default."""
    settings = settings_of(path.stem)
    ((scope, content),) = yaml.safe_load(path.read_text()).items()
    assert scope in ('/**', f'/**/{path.stem}')
    for name, value in content['ros__parameters'].items():
        setting = settings[name]
        assert setting.read(value) == setting.read(setting.default), name
    named = path.read_text()
    assert [name for name in settings if f' {name}:' not in named] == []


@pytest.mark.parametrize('path', LAUNCH, ids=lambda path: path.name)
def test_arguments_are_documented(path):
    """Each argument that a launch file reads is declared with a default and a description."""
    tree = ast.parse(path.read_text(), str(path))
    declared = next(
        ast.literal_eval(each.value)
        for each in tree.body
        if isinstance(each, ast.Assign) and each.targets[0].id == 'ARGUMENTS'
    )
    read = {
        node.slice.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Subscript) and getattr(node.value, 'id', '') == 'given'
    }
    assert read <= set(declared)
    assert all(about for _, about in declared.values())


# --- with the real thing -------------------------------------------------------------------------
@pytest.fixture
def launched(ros):
    """Return a function that launches a file in the domain of the test."""
    pytest.importorskip('launch_ros', reason='ROS 2 launch is not installed here')
    if not shutil.which('ros2'):
        pytest.skip('there is no ros2 command here')
    found = subprocess.run(
        ['ros2', 'pkg', 'prefix', 'closed_chain_dynamics'], capture_output=True, timeout=30
    )
    if found.returncode:
        pytest.skip('the package is not installed in a ROS 2 workspace')
    started = []

    def launch(name, *arguments):
        log = open(ros.folder / 'launch.log', 'w+')
        started.append(
            (
                subprocess.Popen(
                    ['ros2', 'launch', 'closed_chain_dynamics', name, *arguments],
                    env=ros.environment,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                ),
                log,
            )
        )
        return log

    yield launch
    for process, log in started:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(120)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
        log.seek(0)
        text = log.read()
        log.close()
        assert text.count('process started') == text.count('process has finished cleanly'), text


def test_simulation_launches(ros, launched):
    """Joint states and torques come, at the rate that was asked for."""
    launched('simulation.launch.py', 'model:=four_bar', 'rate:=100.0')
    states, torques = (
        ros.listen(JointState, topic, 10) for topic in ('joint_states', 'actuator_torques')
    )
    ros.wait(lambda: states and torques, 'states and torques')
    assert set(states[-1].name) == {'crank', 'coupler', 'rocker'}
    assert torques[-1].name == ['crank']
    stamps = [round(1e3 * seconds(each.header.stamp)) for each in states[1:]]
    assert all(stamp % 10 == 0 for stamp in stamps)  # every period of 10 ms, or several of them


def test_torque_launches(ros, launched):
    """Measured joint states in; commands and complete states out, under the names given."""
    launched(
        'torque.launch.py',
        'model:=four_bar',
        'joint_states:=measured',
        'commands:=arm/commands',
        'complete:=complete',
    )
    outlet = ros.publisher(JointState, 'measured')
    complete = ros.listen(JointState, 'complete', 10)

    def answered():
        message = JointState(name=['crank'], position=[1.0], velocity=[0.0])
        message.header.stamp = ros.node.get_clock().now().to_msg()
        outlet.publish(message)
        return complete

    ros.wait(answered, 'complete joint states')
    assert set(complete[-1].name) == {'crank', 'coupler', 'rocker'}
    # of another node than the complete states, which may start later
    kinds = ros.wait(
        lambda: dict(ros.node.get_topic_names_and_types()).get('/arm/commands'), 'the commands'
    )
    assert kinds == ['std_msgs/msg/Float64MultiArray']
    ros.wait(
        lambda: (
            {'torque_node', 'loop_state_node', 'contact_node'} <= set(ros.node.get_node_names())
        ),
        'all nodes',
    )


def test_view_launches(ros, launched):
    """The page of the view is served."""
    log = launched('view.launch.py', 'model:=four_bar', 'port:=0')

    def address():  # where the program writes on is not moved
        return re.search(r'http://[\w.:]+', Path(log.name).read_text())

    assert urlopen(ros.wait(address, 'the address')[0], timeout=PATIENCE).status == 200
