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

"""Simulator and torque_node, each in a process: they track, and find each other again."""

import signal

from diagnostic_msgs.msg import DiagnosticArray
from helpers.ros_helpers import own_domain, ros  # skips this file where there is no rclpy
from helpers.torque_benches import PERIOD, SHOULDERS, newest, trajectory
import numpy as np
import pytest
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import SetBool
from trajectory_msgs.msg import JointTrajectory

from closed_chain_dynamics.control.trajectory import Trajectory
from closed_chain_dynamics.ros.messages.measured_states import seconds

__all__ = ['ros']  # a fixture: pytest finds it by its name here
KNEES = ['left_knee', 'right_knee']
TRACKING = 2e-3  # what a turn of 1 ms leaves behind, however busy the machine is [rad]
SLOWLY = 0.1  # of real time: what stands still for a second does not let go of the arms for long
RARELY = 2000.0  # states and torques per simulated second, where they need not be many [Hz]
EVERY_GAP = {'connect_gap': 10.0, 'connect_angle': 3.15}


class Tracking:
    """Simulator and torque_node, each in a process, and a reference."""

    def __init__(self, ros, model, names, parameters=(), pace=1.0):
        self.ros, self.names = ros, names
        self.simulator = ros.start(
            'simulator_node',
            {
                'model': model,
                'start_paused': True,
                'real_time_factor': pace,
                'lockstep': 'on',
                'lockstep_timeout': 3600.0,
            },
        )
        # a machine that is busy for seconds is no simulator that says nothing
        patient = {'use_sim_time': True, 'wall_timeout': 3600.0}
        self.parameters = {**patient, **dict(parameters)}
        self.node = ros.start('torque_node', self.parameters)  # its model is the simulator's
        self.states = ros.listen(JointState, 'joint_states', 5000)  # none is lost meanwhile
        self.torques = ros.listen(JointState, 'actuator_torques', 10)
        self.references = ros.publisher(JointTrajectory, 'reference')
        ros.wait_for_reader(self.references)
        ros.wait(lambda: self.states and self.torques, 'both nodes')
        ros.make_known('torque_node')

    def positions(self, state):
        """Return where the joints are."""
        return [state.position[state.name.index(name)] for name in self.names]

    def time(self):
        """Return the simulated time of the newest state [s]."""
        return seconds(self.states[-1].header.stamp)

    def time_of_rest(self):
        """Return the simulated time of a paused simulator, once it is told twice [s]."""
        self.states.clear()
        self.ros.wait(
            lambda: (
                len(self.states) > 1
                and self.states[-1].header.stamp == self.states[-2].header.stamp
            ),
            'time that stands still',
        )
        return self.time()

    def start(self, steps, begin=0.01):
        """Publish a trajectory about the present pose, for a simulated time, and go."""
        centre = np.array(self.positions(self.states[-1]))
        self.times = [0.3 * k for k in range(len(steps) + 2)]
        self.points = [centre, centre, *(centre + step for step in steps)]
        asked = trajectory(self.names, list(zip(self.times, self.points)))
        asked.header.stamp.sec, asked.header.stamp.nanosec = int(begin), round(begin % 1.0 * 1e9)
        self.references.publish(asked)
        self.ros.until_taken('torque_node')  # a reference that comes late is no error of the law
        self.pause(False)

    def pause(self, paused=True):
        """Let time stand still, or go on."""
        self.ros.call(SetBool, 'pause', SetBool.Request(data=paused))

    def until_end(self, begin=0.01, settled=0.0):
        """Wait for the end of the trajectory; return the error from some time after its begin."""
        self.ros.wait(lambda: self.time() > begin + self.times[-1] + 0.1, 'the end of it')
        return self.error(begin, settled)

    def error(self, begin, settled=0.0):
        """Return the largest distance to the trajectory that began at a simulated time."""
        expected, errors = Trajectory(self.names, self.times, self.points), []
        for state in self.states:
            t = seconds(state.header.stamp) - begin
            if settled < t < self.times[-1]:
                errors.append(np.abs(self.positions(state) - expected.sample(t)[0]).max())
        assert len(errors) > 100
        return max(errors)

    def stream_positions(self, begin):
        """Ask for the same motion again, point by point, without velocities or accelerations."""
        same = Trajectory(self.names, self.times, self.points)
        while self.time() < begin + self.times[-1]:
            t = max(self.time() - begin, 0.0)
            self.references.publish(trajectory(self.names, [(0.0, same.sample(t)[0])]))
            self.ros.spin(PERIOD)


def test_two_processes_track_a_reference_on_the_five_bar_and_need_the_feedforward_for_it(ros):
    """The model goes over the latched topic; without feedforward the error is far beyond."""
    tracking = Tracking(ros, 'five_bar', SHOULDERS)
    tracking.start([[0.3, 0.1], [-0.2, 0.2], [0.0, 0.0]])
    assert tracking.until_end() < TRACKING
    begin = tracking.time() + 0.1
    tracking.states.clear()
    ros.wait(lambda: tracking.states, 'states')
    tracking.stream_positions(begin)
    assert tracking.error(begin) > 2.0 * TRACKING
    assert_ends_with_zero(tracking, signal.SIGINT)


def test_two_processes_move_the_knees_of_the_figure_on_the_swing(ros):
    """Spherical joints come as MultiDOFJointState; the swing swings as it likes."""
    tracking = Tracking(ros, 'swing', KNEES)
    tracking.start([[0.3, 0.3], [-0.1, -0.1], [0.0, 0.0]])
    assert tracking.until_end() < TRACKING
    assert_ends_with_zero(tracking, signal.SIGTERM)


def assert_ends_with_zero(tracking, number):
    """Both nodes end with exit code 0 while torques flow; the last command is zero."""
    last = trajectory(tracking.names, [(0.2, tracking.points[-1])])

    def is_driven():  # a stream may have ended long ago, where the machine is busy
        tracking.references.publish(last)
        tracking.ros.spin(PERIOD)
        return np.any(tracking.torques[-1].effort)

    tracking.ros.wait(is_driven, 'torques that flow')
    for process in (tracking.node, tracking.simulator):
        assert process.end(number) == 0 and 'Traceback' not in process.output()
    tracking.ros.wait(lambda: not np.any(tracking.torques[-1].effort), 'zero torques')


def test_a_killed_simulator_that_comes_back_is_controlled_again(ros):
    """Its clock starts anew; the torque node finds it by itself, and the other way round."""
    law = {'model': 'five_bar', 'mode': 'gravity_compensation', 'other_clock': True}
    law['rate'] = RARELY
    torques = ros.listen(JointState, 'actuator_torques', 1)
    said = ros.listen(DiagnosticArray, 'diagnostics', 100)

    def told(name):
        """Return the last status of a node, None where there is none."""
        found = (each for message in reversed(said) for each in message.status)
        return next((each for each in found if each.name == name), None)

    def refusals():
        """Return how many messages the torque node has refused."""
        values = told('torque_node').values if told('torque_node') else []
        return sum(int(each.value) for each in values if each.key.startswith('rejected: '))

    def flowing():
        return torques and np.any(torques[-1].effort)

    go = ros.node.create_client(SetBool, 'pause')

    def simulate():
        """Start one, and time when both have found the other: arms without torques fall."""
        said.clear()
        ros.wait(lambda: told('torque_node'), 'what was refused before')
        before = refusals()
        made = ros.start(
            'simulator_node',
            {
                'model': 'five_bar',
                'start_paused': True,
                'rate': RARELY,
                'real_time_factor': SLOWLY,
            },
        )
        # while it is paused it sends one state again and again, and takes torques
        ros.wait(lambda: refusals() > before, 'states that are repeated')
        ros.wait(
            lambda: told('simulator_node') and ' 0 torques' not in told('simulator_node').message,
            'torques that arrive',
        )
        return made

    def controlled():
        go.call_async(SetBool.Request(data=False))  # a server that was killed answers nothing
        ros.spin(0.2)
        return flowing()

    node = ros.start('torque_node', law)
    ros.wait(lambda: torques, 'the torque node')
    simulator = simulate()
    ros.wait(controlled, 'torques')
    simulator.end(signal.SIGKILL)
    ros.wait(lambda: not flowing(), 'zero torques')
    simulator = simulate()
    ros.wait(controlled, 'torques after the simulator came back')
    node.end(signal.SIGKILL)
    simulator.end(signal.SIGKILL)
    ros.until_quiet(torques)  # the watchdog has sent its zeros
    ros.start('torque_node', law)
    ros.wait(lambda: torques, 'the torque node again')
    simulate()
    ros.wait(controlled, 'torques after the torque node came back')


@pytest.fixture(scope='module')
def shared(tmp_path_factory):
    """Return a Tracking of the figure on the swing, whose left hand has let go and is away."""
    with own_domain(tmp_path_factory.mktemp('one_handed')) as ros:
        tracking = Tracking(ros, 'swing', [*KNEES, 'left_elbow'], EVERY_GAP, pace=0.5)
        tracking.contact = {
            kind: ros.publisher(String, f'contact/{kind}') for kind in ('connect', 'cut')
        }
        tracking.diagnostics = ros.listen(DiagnosticArray, 'diagnostics')
        tracking.events = ros.listen(String, 'contact/events', 100)
        for publisher in tracking.contact.values():
            ros.wait(lambda each=publisher: each.get_subscription_count() == 2, 'both readers')
        for name in ('simulator_node', 'torque_node'):
            ros.make_known(name)
        tracking.contact['cut'].publish(String(data='left_hand'))
        ros.until_taken('simulator_node')  # torque_node's turn is at the start
        tracking.start([[0.3, 0.3, 0.2], [0.0, 0.0, 0.5]])  # the hand moves off the rod
        ros.wait(lambda: newest(tracking.diagnostics, 'open') == 'left_hand', 'an open hand')
        assert tracking.until_end() < TRACKING
        tracking.pause()
        yield tracking


@pytest.fixture
def one_handed(shared):
    """Return that Tracking, whose time goes on during the test alone: it takes all of a core."""
    shared.pause(False)
    yield shared
    shared.pause()


def test_a_connection_that_the_simulator_refuses_is_not_believed(one_handed):
    """Although the node, if it were asked, would close every gap."""
    ros, diagnostics = one_handed.ros, one_handed.diagnostics
    one_handed.contact['connect'].publish(String(data='left_hand'))
    ros.wait(lambda: 'refused' in ''.join(each.data for each in one_handed.events), 'a refusal')
    ros.until_taken('torque_node')
    diagnostics.clear()
    ros.wait(lambda: newest(diagnostics, 'open') == 'left_hand', 'a hand that is still open')
    assert newest(diagnostics, 'contacts as told by') == 'contact/state'
    one_handed.pause()
    begin = one_handed.time_of_rest() + 0.05
    one_handed.start([[-0.2, 0.2, 0.2], [0.0, 0.0, 0.0]], begin)
    assert one_handed.until_end(begin) < TRACKING


def test_a_node_that_is_killed_while_a_hand_is_open_finds_back_by_itself(one_handed):
    """The latched contact/state tells it what it has missed: no reset, and the knees follow."""
    ros = one_handed.ros
    one_handed.pause()
    before = ros.readers(one_handed.references)
    one_handed.node.end(signal.SIGKILL)
    one_handed.torques.clear()
    one_handed.diagnostics.clear()
    one_handed.node = ros.start('torque_node', one_handed.parameters)
    ros.wait(lambda: newest(one_handed.diagnostics, 'state') == 'tracking', 'a pose')
    ros.wait(lambda: ros.readers(one_handed.references) - before, 'a new reader')
    ros.make_known('torque_node')
    begin = one_handed.time() + 0.05
    one_handed.start([[-0.2, 0.2, 0.2], [0.0, 0.0, 0.0]], begin)
    # it rests at first, so that what sank before the first torques comes back
    assert one_handed.until_end(begin, settled=0.3) < TRACKING
