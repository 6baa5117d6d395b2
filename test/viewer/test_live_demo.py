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

"""The demonstration with a browser open on a busy machine, and the controls of a live system."""

import json

from diagnostic_msgs.msg import DiagnosticArray
from helpers.browser_helpers import chromium, opened
from helpers.busy_machine import busy
from helpers.ros_helpers import ros  # first: it skips where there is no ROS
import pytest
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from benchmarks.demo_holds import cores_kept_busy
from closed_chain_dynamics.ros.messages.measured_states import seconds

__all__ = ['chromium', 'ros']  # fixtures: pytest finds them by their names here

PERIOD = 0.01  # of the simulator in the second test [s]
MOVING = 1e-3  # it is at rest before, without gravity [rad/s]
HELD = 10000  # messages that wait while this process does something else


def address_of(viewer):
    """Return where the view is, as its node has said it; nothing: not yet."""
    return next((word for word in viewer.output().split() if word.startswith('http://')), '')


def test_the_demonstration_holds_with_a_browser_open_on_a_busy_machine(ros, chromium):
    """No fallback, no refused grip, no start-over; the real-time factor is shown."""
    events = ros.listen(String, 'contact/events', 100)
    said = ros.listen(DiagnosticArray, 'diagnostics', 1000)
    nodes = ros.up('swing', '--demo', '--port', '0')
    address = ros.wait(lambda: address_of(nodes['viewer_node']), 'the address')
    with busy(nodes.values()), opened(chromium, address) as page:
        page.get_by_text('real-time factor').wait_for()
        ros.wait(
            lambda: len(events) >= 2,
            'the left hand to let go and to grip',
            progress=lambda: {each.message for array in said[-20:] for each in array.status},
        )
    ros.spin(0.0)  # what is here already
    for each in nodes.values():
        assert each.end() == 0, each.output()
    assert [json.loads(each.data)['kind'] for each in events[:2]] == ['cut', 'connect']
    assert not any(json.loads(each.data)['kind'] == 'refused' for each in events)
    assert 'starts over' not in nodes['demo_node'].output()
    torques = [each for array in said for each in array.status if each.name == 'torque_node']
    started = next(k for k, each in enumerate(torques) if 'computed_torque of' in each.message)
    ended = next((k for k, each in enumerate(torques) if 'not active' in each.message), None)
    assert not [each.message for each in torques[started:ended] if 'fallback' in each.message]


def test_cores_are_kept_busy_beside_the_ten_minutes_of_the_demonstration():
    with cores_kept_busy(2) as loops:
        assert [each.poll() for each in loops] == [None, None]
    assert all(each.returncode for each in loops)


def test_a_live_simulator_is_paused_stepped_pushed_and_reset_from_the_view(ros, chromium):
    simulator = ros.start(
        'simulator_node',
        {
            'model': 'two_link',
            'rate': 1.0 / PERIOD,
            'gravity': [0.0, 0.0, 0.0],
            'scene_rate': 30.0,
        },
    )
    states = ros.listen(JointState, 'joint_states', HELD)
    said = ros.listen(DiagnosticArray, 'diagnostics', 100)
    node = ros.start('viewer_node', {'port': 0})
    address = ros.wait(lambda: address_of(node), 'the address')

    def told(name):
        return next(
            (
                each.message
                for array in reversed(said)
                for each in array.status
                if each.name == name
            ),
            '',
        )

    def time():
        return seconds(states[-1].header.stamp)

    with opened(chromium, address) as page:
        page.get_by_text('real-time factor').wait_for()
        page.get_by_role('button', name='Pause').click()
        page.get_by_role('button', name='Go on').wait_for()
        ros.wait(lambda: told('simulator_node').startswith('paused'), 'a pause')
        ros.until_taken('simulator_node')
        before = time()
        page.get_by_role('button', name='Step').click()
        ros.wait(lambda: time() > before, 'a step')
        assert time() == pytest.approx(before + PERIOD)
        page.get_by_role('button', name='Push').click()
        ros.wait(lambda: ', 1 pushes' in told('simulator_node'), 'a push')
        page.get_by_role('button', name='Go on').click()
        ros.wait(lambda: max(map(abs, states[-1].velocity)) > MOVING, 'it to move')
        states.clear()
        page.get_by_role('button', name='Reset').click()
        # any of them: by now it may have come as far again
        ros.wait(lambda: any(seconds(each.header.stamp) < before for each in states), 'the start')
    assert node.end() == 0 and simulator.end() == 0
