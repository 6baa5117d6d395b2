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

"""
What is done to the nodes: signals, bad and old messages, pauses, parameters, events.

Each fault is a function of the soak; what has to follow is waited for, not for a time.
"""

import signal

from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from benchmarks.soaking.watching import NOBODY

__all__ = ['FAULTS']

DRIVEN = ('left_knee', 'right_knee', 'left_elbow', 'right_elbow')
SILENT = 90.0  # until zero must have come, on a machine however busy [s]


def stop_and_continue(soak):
    """Hold up a node for a while."""
    name = soak.rng.choice([*soak.nodes.now])
    soak.nodes.signal(name, signal.SIGSTOP)
    soak.spin(soak.rng.uniform(0.05, 3.0))
    soak.nodes.signal(name, signal.SIGCONT)
    return name


def silence(soak):
    """Stop the simulator or the controller until torques are zero, which they have to become."""
    name = soak.rng.choice(('simulator_node', 'torque_node'))
    if not soak.is_driving():
        return ''
    soak.nodes.signal(name, signal.SIGSTOP)
    try:
        waited = soak.wait(soak.watch.is_zero, SILENT)
    finally:
        soak.nodes.signal(name, signal.SIGCONT)
    if waited is None:
        soak.find('no zero', f'{name} was stopped for {SILENT} s and torques were not zero')
        return name
    soak.delays.append((name, waited))
    return name


def kill(soak):
    """Kill a node with -9 and start it again."""
    name = soak.rng.choice([*soak.nodes.now])
    soak.nodes.kill(name)
    return name


def frozen_states(soak):
    """Say the same state again and again."""
    return soak.say_states([soak.watch.kept[-1]] * 50 if soak.watch.kept else [])


def delayed_states(soak):
    """Say states of a while ago, in order and out of order."""
    states = [*soak.watch.kept][:50]
    soak.rng.shuffle(states)
    return soak.say_states(states)


def broken_states(soak):
    """Say bytes that are no states."""
    states = [bytearray(each) for each in [*soak.watch.kept][-20:]]
    for each in states:
        for _ in range(8):
            each[soak.rng.randrange(4, len(each))] = soak.rng.randrange(256)
    return soak.say_states([bytes(each) for each in states] + [b'\x00\x01', b'\xff' * 9])


def reference(soak):
    """Ask for a motion, mostly a possible one."""
    names = soak.rng.sample(DRIVEN, soak.rng.randrange(1, 5))
    size = soak.rng.choice((0.3, 0.3, 3.0, 1e6, float('nan')))
    points = []
    for k in range(soak.rng.randrange(1, 5)):
        point = JointTrajectoryPoint(positions=[soak.rng.uniform(-1, 1) * size for _ in names])
        point.time_from_start.sec = k + 1
        points.append(point)
    soak.out['reference'].publish(JointTrajectory(joint_names=names, points=points))
    return f'{size:g}'


def event(soak):
    """Let go of something, or take hold of it; sometimes of nothing."""
    name = soak.rng.choice([*soak.watch.loops, *soak.watch.loops, 'nothing', '', 'x' * 10000])
    kind = soak.rng.choice(('connect', 'cut'))
    soak.out[f'contact/{kind}'].publish(String(data=name))
    if name in soak.watch.loops and kind == 'cut':  # else little is left of the figure
        soak.spin(soak.rng.uniform(0.1, 1.0))
        soak.out['contact/connect'].publish(String(data=name))
    return f'{kind} {name[:20]}'


def torques(soak):
    """Say torques that nobody asked for."""
    value = soak.rng.choice((0.0, 1e308, float('nan'), -5.0))
    soak.out['actuator_torques'].publish(
        JointState(name=['left_knee', NOBODY], effort=[value] * 2)
    )
    return f'{value:g}'


def pause(soak):
    """Let time stand still for a while."""
    soak.ask(SetBool, 'pause', SetBool.Request(data=True))
    soak.spin(soak.rng.uniform(0.1, 4.0))
    soak.ask(SetBool, 'pause', SetBool.Request(data=False))
    return ''


def reset(soak):
    """Let time begin anew."""
    soak.ask(Trigger, 'reset', Trigger.Request())
    return ''


def parameters(soak):
    """Change a parameter, sometimes to what it cannot be."""
    node, name, value = soak.rng.choice(
        (
            ('torque_node', 'kp', 300.0),
            ('torque_node', 'kp', float('nan')),
            ('torque_node', 'kd', 35.0),
            ('torque_node', 'state_timeout', 0.06),
            ('torque_node', 'state_timeout', -1.0),
            ('simulator_node', 'real_time_factor', 1.0),
            ('simulator_node', 'real_time_factor', 0.5),
            ('loop_state_node', 'state_timeout', 0.2),
        )
    )
    given = ParameterValue(type=ParameterType.PARAMETER_DOUBLE, double_value=value)
    request = SetParameters.Request(parameters=[Parameter(name=name, value=given)])
    soak.ask(SetParameters, f'/{node}/set_parameters', request)
    return f'{name}={value:g}'


def clear(soak):
    """Clear a fault, as a person would."""
    soak.ask(Trigger, 'clear_fault', Trigger.Request())
    return ''


FAULTS = {
    stop_and_continue: 4,
    silence: 3,
    kill: 1,
    frozen_states: 2,
    delayed_states: 2,
    broken_states: 2,
    reference: 6,
    event: 6,
    torques: 2,
    pause: 3,
    reset: 2,
    parameters: 4,
    clear: 4,
}
