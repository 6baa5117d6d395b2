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

"""loop_state_node as a process of its own: some joints in, all of them out, over DDS."""

import signal

from diagnostic_msgs.msg import DiagnosticArray
from helpers.ros_helpers import latched, own_domain  # skips this file where there is no rclpy
import numpy as np
import pytest
from sensor_msgs.msg import JointState, MultiDOFJointState
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage
from transforms3d.quaternions import quat2mat

import closed_chain_dynamics as ccd
from closed_chain_dynamics.dynamics.tree import link_placement  # noqa: I100
from closed_chain_dynamics.ros.messages.state_messages import multi_dof_states  # noqa: I100

CLOSED = 1e-9  # loops of what is published [m or rad]
EXACT = 1e-8  # joints that were not measured, against the simulation


class Measured:
    """A simulated mechanism of which some joints are measured, and the node that hears them."""

    def __init__(self, ros, model, names, rates):
        self.ros, self.names = ros, names
        robot = ccd.load(model)
        q = ccd.assemble(robot)
        self.sim = ccd.Simulation(
            robot, q=q, v=ccd.complete_velocity(robot, q, rates), log_every=0
        )
        self.start()
        self.complete = ros.listen(JointState, 'joint_states')
        self.others = ros.listen(MultiDOFJointState, 'multi_dof_joint_states')
        self.diagnostics = ros.listen(DiagnosticArray, 'diagnostics', 100)
        self.publisher = ros.publisher(JointState, 'measured_joint_states')
        ros.wait_for_reader(self.publisher)

    def start(self):
        """Start the node, the first time or again."""
        self.process = self.ros.start(
            'loop_state_node', {'model': self.sim.robot.name, 'state_timeout': 10.0}
        )

    def send(self, offset=0.0, step=True):
        """Publish the measured joints, moved by an offset; return the answer or None."""
        robot, sim = self.sim.robot, self.sim
        if step:
            sim.step()
        slices = [robot.joint_slices(name) for name in self.names]
        message = JointState(
            name=self.names,
            position=[float(sim.q[in_q][0]) + offset for in_q, _ in slices],
            velocity=[float(sim.v[in_v][0]) for _, in_v in slices],
        )
        nanoseconds = 10**9 + round(1e9 * sim.time)
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(nanoseconds, 10**9)
        self.complete.clear()
        self.publisher.publish(message)
        if self.process.is_running():
            self.ros.until_taken('loop_state_node')
        assert not self.complete or self.complete[-1].header.stamp == message.header.stamp
        return self.complete[-1] if self.complete else None

    def configuration(self, answer):
        """Return q of a complete JointState of a mechanism of simple joints."""
        q = self.sim.robot.neutral()
        for name, position in zip(answer.name, answer.position):
            q[self.sim.robot.joint_slices(name)[0]] = position
        return q

    def value(self, key):
        """Return a value of the newest diagnostics, None where there is none."""
        values = self.diagnostics[-1].status[0].values if self.diagnostics else ()
        return {each.key: each.value for each in values}.get(key)

    def told(self, text):
        """Wait for a text in the message of diagnostics."""
        self.ros.wait(
            lambda: any(text in array.status[0].message for array in self.diagnostics),
            f'{text!r} in diagnostics',
        )


@pytest.fixture(scope='module')
def five_bar(tmp_path_factory):
    """Return a five-bar of which the shoulders are measured."""
    with own_domain(tmp_path_factory.mktemp('five_bar')) as ros:
        yield Measured(
            ros, 'five_bar', ['left_shoulder', 'right_shoulder'], {'left_shoulder': 0.4}
        )


def test_passive_joints_follow_from_the_loops(five_bar):
    """All joints with position and velocity, as the simulation has them; the loop is closed."""
    five_bar.ros.wait(five_bar.send, 'the first answer')
    for _ in range(30):
        answer = five_bar.send()
        q = five_bar.configuration(answer)
        assert sorted(answer.name) == sorted(five_bar.sim.robot.joint_names)
        assert max(max(gap) for gap in five_bar.sim.robot.loop_gaps(q).values()) < CLOSED
        np.testing.assert_allclose(q, five_bar.sim.q, atol=EXACT)
        v = [five_bar.sim.v[five_bar.sim.robot.joint_slices(name)[1]][0] for name in answer.name]
        np.testing.assert_allclose(answer.velocity, v, atol=EXACT)


def test_a_jump_is_not_published_and_diagnostics_says_lost(five_bar):
    """Until it insists; then it is the pose."""
    five_bar.send()
    five_bar.diagnostics.clear()
    assert five_bar.send(offset=0.5) is None
    five_bar.told('lost')
    assert five_bar.send() is not None
    five_bar.told('tracking')


def test_it_comes_back_after_kill(five_bar):
    """While it is away nobody answers; started anew, it closes the loop again."""
    five_bar.process.end(signal.SIGKILL)
    assert five_bar.send() is None
    five_bar.start()
    q = five_bar.configuration(five_bar.ros.wait(five_bar.send, 'an answer'))
    assert max(max(gap) for gap in five_bar.sim.robot.loop_gaps(q).values()) < CLOSED


def test_a_loop_that_is_cut_is_followed_no_longer(five_bar):
    """Then the lower bars go where they like, and stay where they are when nobody sees them."""
    cut = five_bar.ros.publisher(String, 'contact/cut')
    five_bar.diagnostics.clear()
    # again and again: the reader of the node that was killed is still known, too
    five_bar.ros.wait(
        lambda: cut.publish(String(data='tip')) or five_bar.value('open') == 'tip', 'the open loop'
    )
    five_bar.ros.until_taken('loop_state_node')
    before = five_bar.configuration(five_bar.send(step=False) or five_bar.send())
    five_bar.sim.cut('tip')
    for _ in range(5):
        after = five_bar.configuration(five_bar.send())
    np.testing.assert_allclose(after[[1, 3]], before[[1, 3]], atol=1e-3)


def test_the_owner_of_the_contacts_is_followed_and_commands_no_longer(five_bar):
    """The loop is closed again, whatever is asked for; what is no contact/state is refused."""
    ros, sim = five_bar.ros, five_bar.sim
    topics = [
        ros.publisher(String, 'contact/state', latched()),
        ros.publisher(String, 'contact/cut'),
    ]
    for publisher in topics:
        ros.wait_for_reader(publisher)
    topics[0].publish(String(data='{"tip": false}'))
    ros.wait(
        lambda: five_bar.diagnostics and five_bar.value('contacts as told by') == 'contact/state',
        'the node to hear: of what is said before that, it gets the last alone',
    )
    for text in ('{"tip": "no"}', '[', '{"tip": true}'):
        topics[0].publish(String(data=text))
        ros.until_taken('loop_state_node')
    topics[1].publish(String(data='tip'))
    ros.until_taken('loop_state_node')
    five_bar.diagnostics.clear()
    ros.wait(lambda: five_bar.value('open') == 'none', 'the closed loop')
    sim.connect('tip')
    answer = five_bar.send() or five_bar.send()
    np.testing.assert_allclose(five_bar.configuration(answer), sim.q, atol=EXACT)
    assert five_bar.value('contacts as told by') == 'contact/state'
    assert five_bar.value('rejected: contact/state') == '2'


def test_it_ends_with_exit_code_0(five_bar):
    """On SIGTERM."""
    assert five_bar.process.end(signal.SIGTERM) == 0
    assert 'Traceback' not in five_bar.process.output()


def test_joints_of_several_degrees_are_published_too(tmp_path):
    """The figure on the swing, of which knees and elbows are measured."""
    with own_domain(tmp_path) as ros:
        swing = Measured(
            ros, 'swing', ['left_knee', 'right_knee', 'left_elbow', 'right_elbow'], {}
        )
        frames = ros.listen(TFMessage, '/tf', 100)

        def all_that_is_told():
            swing.others.clear()
            frames.clear()
            answer = swing.send(step=False) or swing.send()
            # not every reader is known to the node as soon as the first one
            return answer and swing.others and frames and (answer, swing.others[-1], frames[-1])

        answer, others, shown = ros.wait(all_that_is_told, 'an answer of every kind')
        assert sorted(answer.name) == sorted(swing.names)
        robot, q = swing.sim.robot, swing.sim.robot.neutral()
        for name, (part, _) in multi_dof_states(robot, others).items():
            q[robot.joint_slices(name)[0]] = part
        for name, position in zip(answer.name, answer.position):
            q[robot.joint_slices(name)[0]] = position
        assert max(max(gap) for gap in robot.loop_gaps(q).values()) < CLOSED
        _assert_seen_in_rviz(robot, q, shown)


def _assert_seen_in_rviz(robot, q, message):
    """Each link that robot_state_publisher cannot place is where the pose has it."""
    parents = {joint.child: joint.parent for joint in robot.description.joints}
    assert {each.child_frame_id for each in message.transforms} == {
        joint.child
        for joint in robot.description.joints
        if joint.name not in robot.coordinate_names
    }
    for each in message.transforms:
        at, rotation = each.transform.translation, each.transform.rotation
        assert each.header.frame_id == parents[each.child_frame_id]
        T = np.eye(4)
        T[:3, :3] = quat2mat([rotation.w, rotation.x, rotation.y, rotation.z])
        T[:3, 3] = at.x, at.y, at.z
        parent, child = (
            link_placement(robot, q, link) for link in (each.header.frame_id, each.child_frame_id)
        )
        np.testing.assert_allclose(parent @ T, child, atol=EXACT)
