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

"""The node `viewer_node`: a live system, over real DDS, in a real browser."""

import itertools
import json
import os
import time

from diagnostic_msgs.msg import DiagnosticArray
from helpers.browser_helpers import chromium, drag_thumb, opened
from helpers.ros_helpers import LOOK, latched, newest, ros  # first: it skips without ROS
from sensor_msgs.msg import JointState
from std_msgs.msg import String

import closed_chain_dynamics as ccd

__all__ = ['chromium', 'ros']  # fixtures: pytest finds them by their names here

IDLE_SHARE = 0.1  # of a core, while no browser looks
HELD = 2e-3  # how far a held leg may sink: what the law leaves [rad]
BEFORE = 2  # sliders above those of the motors: speed, and force of a push
LOOK_AGAIN = 2.0  # at a joint that was asked to move [s]
MEASURED = 2.0  # for how long that is looked at [s]


def address_of(heard):
    """Return where the node says that its page is."""
    for message in heard:
        for status in message.status:
            if status.name == 'viewer_node' and status.message.startswith('at http'):
                return status.message[3:]
    return None


def seconds_of_processor(process):
    with open(f'/proc/{process.pid}/stat') as file:
        fields = file.read().rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def test_buttons_of_the_view_cut_and_connect_a_live_system(ros, chromium):
    # without gravity the ends of the loop stay where they are when it is cut
    simulator = ros.start(
        'simulator_node', {'model': 'four_bar', 'gravity': [0.0, 0.0, 0.0], 'rate': 100.0}
    )
    node = ros.start('viewer_node', {'port': 0})
    states = ros.listen(String, 'contact/state', latched())
    heard = ros.listen(DiagnosticArray, 'diagnostics')
    address = ros.wait(lambda: address_of(heard), 'the address of the page')

    def is_idle():  # as soon as what starting has left to do is done
        before, start = seconds_of_processor(node), time.monotonic()
        ros.spin(MEASURED)
        share = (seconds_of_processor(node) - before) / (time.monotonic() - start)
        return share < IDLE_SHARE

    ros.wait(is_idle, 'a node that has little to do')

    with opened(chromium, address) as page:
        page.get_by_text('live system').wait_for()
        # nobody drags a live system
        page.get_by_text('drag one').first.wait_for(state='detached')
        page.get_by_role('tab', name='Loops').click()
        for button, closed, shown in (('Cut', False, 'open'), ('Connect', True, 'closed')):
            page.get_by_role('button', name=f'{button} coupler_rocker').click()
            ros.wait(lambda: json.loads(states[-1].data) == {'coupler_rocker': closed}, button)
            page.get_by_role('cell', name=shown).wait_for()
    assert node.end() == 0 and simulator.end() == 0


def test_a_model_that_nobody_moves_is_dragged_in_the_view(ros, chromium):
    node = ros.start('viewer_node', {'port': 0, 'model': 'four_bar'})
    heard = ros.listen(DiagnosticArray, 'diagnostics')
    with opened(chromium, ros.wait(lambda: address_of(heard), 'the address of the page')) as page:
        page.get_by_role('slider').nth(2).wait_for()
        assert page.get_by_role('slider').count() == 3
    assert node.end() == 0


def test_a_leg_is_held_in_a_view_whose_sliders_move_it(ros, chromium):
    """Nothing falls before it is held; a slider of the view asks for another pose."""
    states = ros.listen(JointState, 'joint_states')
    safety = ros.listen(String, 'safety_state', latched())
    heard = ros.listen(DiagnosticArray, 'diagnostics', 100)
    nodes = ros.up(
        *('exo_leg', '--hold', '--viewer', '--rate', '200', '--mode', 'computed_torque'),
        # a leg whose controller stands still for a moment waits for it: it does not fall
        simulator_node={'lockstep': 'on', 'lockstep_timeout': 3600.0},
        torque_node={'wall_timeout': 3600.0},
    )
    motors = ccd.load('exo_leg').actuator_names
    ros.wait(lambda: states, 'a state')
    _, start = newest(states)
    ros.wait(lambda: newest(states)[0] > 0.5, 'time that passes')
    _, held = newest(states)
    assert max(abs(held[name] - start[name]) for name in start) < HELD
    assert json.loads(safety[-1].data)['state'] == 'active'
    address = ros.wait(lambda: address_of(heard), 'the address of the view')
    with opened(chromium, address) as page:
        page.get_by_text('motor targets').wait_for()
        shares = itertools.cycle((0.7, 0.65))

        def has_moved():
            return abs(newest(states)[1]['hip'] - start['hip']) > 0.02

        def is_dragged():  # a page that is still being drawn may miss the mouse
            drag_thumb(page, BEFORE + motors.index('hip'), next(shares))
            end = time.monotonic() + LOOK_AGAIN
            while time.monotonic() < end and not has_moved():
                ros.spin(LOOK)
            return has_moved()

        ros.wait(is_dragged, 'a hip that moves')
    _, moved = newest(states)
    assert abs(moved['knee'] - start['knee']) < HELD, 'joints that are not named stay'
    for each in nodes.values():
        assert each.end() == 0, each.output()
