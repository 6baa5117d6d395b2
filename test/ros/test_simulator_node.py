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

"""The simulator as a process over DDS: against Pinocchio, against the core, and against misuse."""

import json
import signal

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import WrenchStamped
from helpers.ros_helpers import latched, ros  # skips this file where there is no rclpy
import numpy as np
import pinocchio as pin
import pytest
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState, MultiDOFJointState
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import Marker, MarkerArray

import closed_chain_dynamics as ccd
from closed_chain_dynamics.ros.messages.state_messages import multi_dof_states  # noqa: I100

__all__ = ['ros']  # a fixture: pytest finds it by its name here

CLOSED = 1e-9  # of loops, from what was published [m or rad]
SAME = 1e-12  # forward kinematics in two libraries, bodies a few metres away
STATICS = 1e-9  # a force at rest against weight, relative: what is left of the motion


def seconds(stamp):
    """Return a stamp in seconds."""
    return stamp.sec + 1e-9 * stamp.nanosec


class Stepped:
    """A simulator that waits for each step, and what it published after the last one."""

    def __init__(self, ros, **parameters):
        self.ros = ros
        self.process = ros.start('simulator_node', {'start_paused': True, **parameters})
        self.joint_states = ros.listen(JointState, 'joint_states', 1000)
        self.events = ros.listen(String, 'contact/events', 100)
        self.state = ros.listen(String, 'contact/state', latched())
        self.diagnostics = ros.listen(DiagnosticArray, 'diagnostics', 10)
        self.outlets = {}
        ros.wait(lambda: self.joint_states, 'joint_states')
        ros.make_known('simulator_node')  # no event is lost

    def report(self):
        """Return what the simulator says of itself."""
        return self.ros.call(SetBool, 'pause', SetBool.Request(data=True)).message

    def put(self, kind, topic, message, what, again=None):
        """
        Publish until the simulator has taken it: what is reliable comes, however late.

        `again`: looks in vain until it is published once more, where the first one may be lost.
        """
        outlet = self.outlet(kind, topic)
        before = self.taken(what)
        outlet.publish(message)
        tries = 0

        def is_taken():
            nonlocal tries
            tries += 1
            if again and tries % again == 0:
                outlet.publish(message)
            return self.taken(what) > before

        self.ros.wait(is_taken, f'{topic} to be taken')

    def outlet(self, kind, topic):
        """Return the publisher of a topic that the simulator reads."""
        if topic not in self.outlets:
            self.outlets[topic] = self.ros.publisher(kind, topic)
            self.ros.wait_for_reader(self.outlets[topic])
        return self.outlets[topic]

    def taken(self, what):
        """Return how many inputs of a kind the simulator has taken."""
        words = self.report().replace(',', '').split()
        return int(words[words.index(what) - 1])

    def torque(self, **efforts):
        """Send torques by actuator."""
        self.put(
            JointState,
            'actuator_torques',
            JointState(name=list(efforts), effort=list(efforts.values())),
            'torques',
            again=50,
        )

    def event(self, kind, name):
        """Ask for a connection or a cut."""
        self.put(String, f'contact/{kind}', String(data=name), 'events')

    def step(self, count=1):
        """Take steps; return the state after the last one."""
        for _ in range(count):
            before = self.joint_states[-1].header.stamp  # it is told again once a second
            answer = self.ros.call(Trigger, 'step', once='simulator_node')
            assert answer.success, answer.message
            self.ros.wait(
                lambda before=before: self.joint_states[-1].header.stamp != before,
                'the state after a step',
            )
        return self.joint_states[-1]

    def until_closed(self, **closed):
        """Wait until contact/state says which joints are closed."""
        self.ros.wait(lambda: json.loads(self.state[-1].data) == closed, f'{closed}')

    def records(self, count):
        """Wait for a number of events in all; return them."""
        self.ros.wait(lambda: len(self.events) >= count, f'{count} events')
        return [json.loads(each.data) for each in self.events]

    def values(self):
        """Return the next diagnostics: the status, and its values by name."""
        status = self.ros.next(self.diagnostics, 'diagnostics').status[0]
        return status, {each.key: each.value for each in status.values}


def published_state(robot, joint_state, multi_dof):
    """Return q, v of a mechanism from messages."""
    q, v = robot.neutral(), np.zeros(robot.nv)
    for k, name in enumerate(joint_state.name):
        in_q, in_v = robot.joint_slices(name)
        q[in_q], v[in_v] = joint_state.position[k], joint_state.velocity[k]
    for name, (part_q, part_v) in multi_dof_states(robot, multi_dof).items():
        in_q, in_v = robot.joint_slices(name)
        q[in_q], v[in_v] = part_q, part_v
    return q, v


def pinocchio_placements(xml, joint_state, multi_dof):
    """Return the placement of every frame that Pinocchio finds in a URDF, by name."""
    model = pin.buildModelFromXML(xml)
    q = pin.neutral(model)
    for name, value in zip(joint_state.name, joint_state.position):
        q[model.joints[model.getJointId(name)].idx_q] = value
    for name, transform in zip(multi_dof.joint_names, multi_dof.transforms):
        at, turned = transform.translation, transform.rotation
        place = model.joints[model.getJointId(name)].idx_q  # URDF says floating, also of a ball
        q[place : place + 7] = at.x, at.y, at.z, turned.x, turned.y, turned.z, turned.w
    data = model.createData()
    pin.framesForwardKinematics(model, data, q)
    return {
        frame.name: data.oMf[k]
        for k, frame in enumerate(model.frames)
        if frame.type == pin.FrameType.BODY
    }


def test_swing_in_real_time(ros):
    """TF is Pinocchio's forward kinematics, and the loops are closed, from what is published."""
    process = ros.start('simulator_node', {'model': 'swing', 'rate': 100.0, 'scene_rate': 50.0})
    single = ros.listen(JointState, 'joint_states', 1000)
    multi = ros.listen(MultiDOFJointState, 'multi_dof_joint_states', 1000)
    moving, fixed = (
        ros.listen(TFMessage, '/tf', 1000),
        ros.listen(TFMessage, '/tf_static', latched()),
    )
    described = ros.listen(String, 'robot_description', latched())
    clock, markers = ros.listen(Clock, '/clock'), ros.listen(MarkerArray, 'markers')
    stamps, several = {}, {}

    def common():
        """Return the times of which there is all."""
        stamps.update((seconds(each.header.stamp), each) for each in single)
        several.update((seconds(each.header.stamp), each) for each in multi)
        times = [seconds(each.transforms[0].header.stamp) for each in moving]
        return [time for time in times if time in stamps and time in several]

    ros.wait(lambda: len(common()) > 20 and fixed and described, 'twenty states')
    time = common()[-1]
    robot = ccd.load(described[0].data)
    assert set(stamps[time].name) | set(several[time].joint_names) == set(robot.joint_names)
    for each in common()[::5]:
        q, v = published_state(robot, stamps[each], several[each])
        assert max(max(gap) for gap in robot.loop_gaps(q).values()) < CLOSED
        assert np.abs(ccd.constraint_jacobian(robot, q)[0] @ v).max() < CLOSED
    assert np.abs(v).max() > 0.01  # it does move
    tree = next(each for each in moving if seconds(each.transforms[0].header.stamp) == time)
    expected = pinocchio_placements(described[0].data, stamps[time], several[time])
    seen = set()
    for transform in (*tree.transforms, *fixed[-1].transforms):
        parent, child = transform.header.frame_id, transform.child_frame_id
        if child.startswith('loop/'):
            continue
        at, turned = transform.transform.translation, transform.transform.rotation
        X = pin.XYZQUATToSE3(np.array([at.x, at.y, at.z, turned.x, turned.y, turned.z, turned.w]))
        assert (
            np.abs(
                X.homogeneous - (expected[parent].inverse() * expected[child]).homogeneous
            ).max()
            < SAME
        ), child
        seen.add(child)
    assert seen == set(robot.link_names) - {robot.link_names[0]}
    ros.wait(lambda: markers and clock, 'markers and clock')
    kinds = {marker.ns for marker in markers[-1].markers if marker.action == Marker.ADD}
    assert {'loops', 'loop_forces'} <= kinds
    periods = np.array(list(stamps))[1:] * 100.0  # a busy machine takes several at once
    assert np.abs(periods - np.round(periods)).max() < 1e-6
    assert process.end() == 0, process.output()


def test_stepped_simulation_is_the_core_to_the_last_bit(ros):
    """Torques, a cut and a connection at chosen steps: the same bits as one Simulation."""
    node = Stepped(
        ros,
        model='four_bar',
        dt=0.0005,
        initial_positions=['crank=1.0'],
        initial_velocities=['crank=3.0'],
        torque_timeout=0.01,
    )
    robot = ccd.load('four_bar')
    q = ccd.assemble(robot, {'crank': 1.0})
    sim = ccd.Simulation(robot, q, ccd.complete_velocity(robot, q, {'crank': 3.0}), dt=0.0005)

    def same():
        got = node.joint_states[-1]
        assert list(got.position) == list(sim.q) and list(got.velocity) == list(sim.v)
        assert seconds(got.header.stamp) == pytest.approx(sim.time, abs=1.1e-9)

    same()
    node.torque(crank=2.5)
    state = node.step(3)
    sim.run(0.003, {'crank': 2.5})
    same()
    assert dict(zip(state.name, state.effort)) == {'crank': 2.5, 'coupler': 0.0, 'rocker': 0.0}
    node.event('cut', 'coupler_rocker')
    node.step()
    (cut,) = sim.cut('coupler_rocker')
    sim.run(0.001, {'crank': 2.5})
    same()
    node.until_closed(coupler_rocker=False)
    node.event('connect', 'coupler_rocker')
    node.step()
    (connect,) = sim.connect('coupler_rocker')
    sim.run(0.001, {'crank': 2.5})
    same()
    for record, event in zip(node.records(2), (cut, connect)):
        assert record['time'] == event.time and record['kind'] == event.kind
        assert record['impulse'] == list(event.impulse)
        assert record['energy_lost'] == event.energy_lost
        assert (record['mobility_before'], record['mobility_after']) == (
            event.mobility_before,
            event.mobility_after,
        )
    assert np.abs(connect.impulse).max() > 0.0
    node.until_closed(coupler_rocker=True)
    # the torques are 5 ms old; from 10 ms on they are stale
    node.step(5)
    assert node.step().effort[0] == 2.5
    assert node.step().effort[0] == 0.0


def test_what_is_impossible_is_refused_and_changes_nothing(ros):
    """Names, sizes, numbers and gaps that do not fit; the motion is that without them."""
    node = Stepped(ros, model='four_bar', initial_positions=['crank=1.0'])
    sim = ccd.Simulation(ccd.load('four_bar'), ccd.assemble(ccd.load('four_bar'), {'crank': 1.0}))
    node.torque(crank=0.0)
    for name, effort in (
        (['crank'], [float('nan')]),
        (['crnk'], [1.0]),
        (['crank'], []),
        (['crank', 'crank'], [1.0, 2.0]),
    ):
        node.outlets['actuator_torques'].publish(JointState(name=name, effort=effort))
    wrong = WrenchStamped()
    wrong.header.frame_id = 'nowhere'
    node.outlet(WrenchStamped, 'external_wrench').publish(wrong)
    ros.wait(
        lambda: (
            node.values()[1].items()
            >= {'rejected: actuator_torques': '4', 'rejected: external_wrench': '1'}.items()
        ),
        'five refusals',
    )
    assert 'taken: 1 torques, 0 pushes' in node.report()
    assert "no link named 'nowhere'" in node.values()[1]['last rejection']
    node.event('connect', 'coupler_rocker')  # closed already
    node.event('cut', 'coupler_rockr')  # a name that is none
    node.step(2)
    sim.run(0.002)
    first, second = node.records(2)
    assert (first['kind'], first['wanted'], first['name']) == (
        'refused',
        'connect',
        'coupler_rocker',
    )
    assert 'already connected' in first['reason'] and "'coupler_rocker'" in second['reason']
    node.event('cut', 'coupler_rocker')
    node.step(200)
    sim.cut('coupler_rocker')
    sim.run(0.2)
    node.event('connect', 'coupler_rocker')  # too far apart by now
    state = node.step()
    sim.run(0.001)
    assert 'apart, more than' in node.records(4)[3]['reason']
    node.until_closed(coupler_rocker=False)
    assert list(state.position) == list(sim.q)
    ros.wait(lambda: node.values()[1]['rejected: contact/connect'] == '2', 'two refusals')
    node.event('cut', 'coupler')  # of the tree: what it carried flies on
    several = ros.listen(MultiDOFJointState, 'multi_dof_joint_states')
    ros.wait(lambda: ros.node.count_publishers('multi_dof_joint_states'), 'its publisher')
    state = node.step()
    sim.cut('coupler')
    sim.run(0.001)
    ros.wait(lambda: several, 'the joint that is free')
    assert set(state.name) == {'crank', 'rocker'} and several[-1].joint_names == ['coupler']
    pose = multi_dof_states(sim.robot, several[-1])['coupler']
    for k in range(2):
        assert np.array_equal(pose[k], (sim.q, sim.v)[k][sim.robot.joint_slices('coupler')[k]])
    node.until_closed(coupler_rocker=False, coupler=False)


def test_a_step_that_fails_stops_time_until_reset(ros):
    """Nobody goes on from a state that is none, and reset recovers."""
    node = Stepped(ros, model='four_bar', initial_positions=['crank=1.0'])
    start = list(node.joint_states[-1].position)
    node.step(3)
    push = WrenchStamped()  # torques are clipped to what motors can
    push.header.frame_id, push.wrench.torque.y = 'crank_link', 1e200
    node.put(WrenchStamped, 'external_wrench', push, 'pushes')
    ros.call(Trigger, 'step', once='simulator_node')
    answer = ros.call(Trigger, 'step')
    assert not answer.success and 'time stands still until reset' in answer.message
    ros.wait(lambda: node.values()[0].level == b'\x02', 'an error in diagnostics')
    assert ros.call(Trigger, 'reset').success
    ros.wait(  # zero would mean no time
        lambda: seconds(node.joint_states[-1].header.stamp) == 1e-9, 'the state after the reset'
    )
    assert list(node.joint_states[-1].position) == start
    assert node.step().effort[0] == 0.0
    ros.wait(lambda: node.values()[0].level == b'\x00', 'nothing wrong in diagnostics')
    assert ros.call(SetBool, 'pause', SetBool.Request(data=False)).success
    ros.wait(lambda: seconds(node.joint_states[-1].header.stamp) > 0.1, 'time to pass')
    assert not ros.call(Trigger, 'step').success  # it is for a simulation that is paused
    assert node.process.end(signal.SIGTERM) == 0, node.process.output()


def test_wrenches_and_pushes_of_a_pendulum(ros):
    """At rest the joint carries the weight; a push turns the arm as its inertia says."""
    robot = ccd.load('pendulum')
    joint = robot.joint_names[0]
    arm = robot.description.joints[-1].child
    node = Stepped(ros, model='pendulum', initial_positions=[f'{joint}=0.0'], push_duration=0.01)
    wrenches = ros.listen(WrenchStamped, f'joint_wrenches/{joint}')
    ros.wait(lambda: node.step() and wrenches, 'a wrench')
    inertia = next(link.inertia for link in robot.description.links if link.name == arm)
    force = wrenches[-1].wrench.force
    assert wrenches[-1].header.frame_id == arm
    assert np.abs([force.x, force.y, force.z - inertia.mass * 9.80665]).max() < STATICS * force.z
    # 2 N along x of the arm, 0.01 s, at the joint: no turning; as a moment about it: turning
    push = WrenchStamped()
    push.header.frame_id = arm
    push.wrench.force.x, push.wrench.torque.y = 2.0, -3.0
    node.put(WrenchStamped, 'external_wrench', push, 'pushes')
    rate = node.step(20).velocity[0]
    lever = inertia.origin.xyz[2]
    about_joint = inertia.moments[3] + inertia.mass * lever**2
    sign = robot.description.joints[-1].axis[1]
    assert rate == pytest.approx(-3.0 * sign * 0.01 / about_joint, rel=0.02)  # gravity: 1 %
