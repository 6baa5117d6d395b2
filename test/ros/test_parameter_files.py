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

"""What `ros2 param dump` writes of a node is a file that the node starts with again."""

from types import SimpleNamespace

from helpers.ros_helpers import ros  # skips this file where there is no rclpy
import pytest
from rcl_interfaces.srv import GetParameters, ListParameters
from rclpy.parameter import parameter_value_to_python
import yaml

import closed_chain_dynamics as ccd
from closed_chain_dynamics.ros.torque_settings import SETTINGS
from closed_chain_dynamics.ros.torque_setup import law

__all__ = ['ros']  # a fixture: pytest finds it by its name here


def dumped(ros, name):
    """Return the parameters of a node by name, as `ros2 param dump` asks for them."""
    names = ros.call(ListParameters, f'/{name}/list_parameters').result.names
    values = ros.call(
        GetParameters, f'/{name}/get_parameters', GetParameters.Request(names=names)
    ).values
    return {
        each: list(value)
        if isinstance(value, (list, tuple)) or hasattr(value, 'tolist')
        else value
        for each, value in zip(names, map(parameter_value_to_python, values))
    }


@pytest.mark.parametrize(
    'name, parameters',
    [
        (
            'torque_node',
            {'model': 'five_bar', 'kp': 100.0, 'joint_gains': ['left_shoulder=90,20']},
        ),
        ('simulator_node', {'model': 'five_bar', 'lockstep': 'on', 'gravity': [0.0, 0.0, -1.5]}),
    ],
)
def test_a_dump_is_loaded_again(ros, tmp_path, name, parameters):
    node = ros.start(name, parameters)
    first = dumped(ros, name)
    for each, value in parameters.items():
        assert first[each] == value
    assert node.end() == 0, node.output()
    path, shown = tmp_path / 'dump.yaml', first
    for _ in range(2):  # the dump of a node that was started with a dump is one as well
        path.write_text(yaml.dump({f'/{name}': {'ros__parameters': shown}}))
        module = f'closed_chain_dynamics.ros.nodes.{name}'
        node = ros.run(module, '--ros-args', '--params-file', str(path))
        shown = dumped(ros, name)
        assert shown == first
        assert node.end() == 0, node.output()


def test_a_parameter_that_does_not_exist_is_named_with_the_one_that_was_meant(ros):
    node = ros.start('simulator_node', {'model': 'four_bar', 'publish_clok': False})
    ros.wait(lambda: 'publish_clok' in node.output(), 'a warning')
    assert "no parameter 'publish_clok': ignored. Did you mean 'publish_clock'?" in node.output()
    assert 'qos_overrides' not in node.output()


@pytest.mark.parametrize('torque', ['1000', '-1000', '1e308', 'inf', 'nan'])
def test_a_preload_beyond_what_a_motor_can_is_refused(torque):
    """It alone would saturate the motor, and everything would seem to be in order."""
    given = {each.name: each.default for each in SETTINGS}
    robot = ccd.load('exo_leg')
    motor, effort = robot.actuator_names[0], float(robot.model.actuators['effort'][0])
    law(SimpleNamespace(**given | {'preload': [f'{motor}={0.9 * effort}']}), robot, None)
    with pytest.raises(ccd.ClosedChainError, match=motor):
        law(SimpleNamespace(**given | {'preload': [f'{motor}={torque}']}), robot, None)


@pytest.mark.parametrize(
    'policy, weight, words',
    [
        ('minimum_norm', '2', "the policy 'minimum_norm' takes no weights"),
        ('weighted', '0', 'weights must be positive'),
    ],
)
def test_weights_that_no_turn_could_use_are_refused(policy, weight, words):
    """Else every turn would fall back, with parameters that were accepted."""
    given = {each.name: each.default for each in SETTINGS}
    robot = ccd.load('exo_leg')
    weights = [f'{robot.actuator_names[0]}={weight}']
    with pytest.raises(ccd.ClosedChainError, match=words):
        law(SimpleNamespace(**given | {'policy': policy, 'weights': weights}), robot, None)
    law(SimpleNamespace(**given | {'policy': policy}), robot, None)
