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

"""Motions, references, controllers and logs that must be refused: id -> function of a folder."""

import math
from unittest import mock

from helpers.called_mechanisms import FLOATING, four_bar, moving, without_mass
from helpers.called_where import command, without_library
from helpers.floating_hopper import HOPPER, LEG
from helpers.rounded_linkages import rounded_wrist
from helpers.single_joints import slider
from helpers.small_files import ARM, BASE, hinge, robot
import numpy as np

import closed_chain_dynamics as ccd
from closed_chain_dynamics.cli import derive, torque, zoo
from closed_chain_dynamics.control.base_state import BaseState
from closed_chain_dynamics.control.blending import Blend
from closed_chain_dynamics.control.contact_detection import ContactDetector
from closed_chain_dynamics.control.feel import Feel
from closed_chain_dynamics.control.joint_limits import JointLimits
from closed_chain_dynamics.control.law import TorqueController
from closed_chain_dynamics.control.loop_state import LoopState
from closed_chain_dynamics.control.reference import Reference
from closed_chain_dynamics.control.sensed import Sensors
from closed_chain_dynamics.control.torque_guard import TorqueGuard
from closed_chain_dynamics.control.trajectory import Trajectory
from closed_chain_dynamics.description import read
from closed_chain_dynamics.kernels import records
from closed_chain_dynamics.model import workspace
from closed_chain_dynamics.recording.log_reading import read_npz
from closed_chain_dynamics.viewer import LogSource, ModelSource, open_view
from closed_chain_dynamics.viewer.holding import Holding

__all__ = ['MOTIONS']

BALL = robot(
    BASE, ARM, hinge('ball', 'base', 'arm', kind='floating', attributes='cc:type="spherical"')
)


def ball_file(at):
    """Return a file with a ball joint."""
    (at / 'ball.urdf').write_text(BALL)
    return at / 'ball.urdf'


def follows(text, model='four_bar'):
    """Return a call of `closed-chain torque` with a trajectory of these lines."""

    def run(at):
        (at / 'motion.csv').write_text(text)
        command(
            ball_file(at) if model == 'ball' else model,
            '--trajectory',
            at / 'motion.csv',
            module=torque,
        )(at)

    return run


def silent_base():
    """Join a base to a state that came long after it."""
    base = BaseState(ccd.load(HOPPER))
    base.take_imu([0, 0, 0, 1], [0, 0, 0], stamp=1.0)
    base.join(LEG, np.zeros(2), np.zeros(2), stamp=2.0)


def controlled(**options):
    """Return the controller of a four-bar."""
    return TorqueController(four_bar()[0], **options)


def referred(name):
    """Follow a trajectory of one joint."""
    mechanism = ccd.load(FLOATING)
    q = mechanism.neutral()
    return Reference(mechanism).take(
        [name], [0.0, 1.0], [[0.0], [1.0]], time=0.0, q=q, v=np.zeros(6)
    )


def asked_of_the_leg(names, times, positions):
    """Ask the leg of an exoskeleton for a motion."""
    leg = ccd.load('exo_leg')
    q, v = np.zeros(leg.nq), np.zeros(leg.nv)
    Reference(leg).take(names, times, positions, time=0.0, q=q, v=v)


def jumped():
    """Ask for a point of a stream that is turns away."""
    mechanism, q = four_bar()
    v = np.zeros(mechanism.nv)
    Reference(mechanism).take(['crank'], [0.0], [[30.0]], time=0.0, q=q, v=v)


def mujoco(inside, **options):
    """Read an MJCF text with a pendulum and more."""
    body = '<body name="arm"><joint name="j" {}/><geom size="0.1"/></body>'
    return read(
        f'<mujoco><worldbody>{inside.get("world", body.format(inside.get("joint", "")))}'
        f'</worldbody>{inside.get("more", "")}</mujoco>',
        **options,
    )


def mesh_from_elsewhere(at):
    """Read an MJCF file that names a file of somebody else."""
    (at / 'arm.xml').write_text('<mujoco><asset><mesh file="/etc/passwd"/></asset></mujoco>')
    read(at / 'arm.xml')


def too_large(at):
    """Load a mechanism where there is no memory for it."""
    with mock.patch.object(workspace, 'MOST_WORKSPACE_BYTES', 0):
        ccd.load('pendulum')


def closed_as_well_as_it_can_be(at):
    """Raise as a kernel does that cannot close a loop any better."""
    robot = rounded_wrist(0.03, 0.0)
    robot.raise_for(records.LOOP_OPEN, ccd.assemble(robot, {'motor_0': 0.3}))


def no_log(at):
    """Read arrays that are no log."""
    np.savez(at / 'other.npz', a=np.zeros(3))
    read_npz(at / 'other.npz')


MOTIONS = {
    'a loop whose digits contradict each other': closed_as_well_as_it_can_be,
    'a spring that is too stiff': lambda at: ccd.Simulation(
        slider(0.01, stiffness=3e13), q=[1e-3]
    ).run(0.01),
    'a zoo that is a file': command('pyproject.toml', module=zoo),
    # tables and sines
    'a sine on a ball': lambda at: command(ball_file(at), '--sine', 'ball=1,1', module=torque)(at),
    'a trajectory that is not there': lambda at: command(
        'four_bar', '--trajectory', at / 'absent.csv', module=torque
    )(at),
    'a trajectory without time': follows('crank\n1\n'),
    'a trajectory of nothing': follows('time,cranc\n0,1\n'),
    'a trajectory of two points': follows('time,crank\n0,1\n1,2\n'),
    'a trajectory out of order': follows('time,crank\n0,1\n2,1\n1,1\n3,1\n'),
    'a trajectory with a word': follows('time,crank\n0,1\n1,two\n2,3\n3,4\n'),
    'a trajectory of half a ball': follows('time,ball:qx\n0,1\n1,2\n2,3\n3,4\n', 'ball'),
    'a trajectory of no rotation': follows(
        'time,ball:qx,ball:qy,ball:qz,ball:qw\n' + ''.join(f'{t},1,1,1,1\n' for t in range(5)),
        'ball',
    ),
    'a trajectory out of reach': follows('time,rocker\n0,1.4\n1,1.2\n2,0.8\n3,0.5\n'),
    # references and controllers
    'a trajectory without joints': lambda at: Trajectory([], [0.0], [[]]),
    'a trajectory of a joint twice': lambda at: Trajectory(['a', 'a'], [0.0], [[0.0, 0.0]]),
    'a trajectory without points': lambda at: Trajectory(['a'], [], []),
    'a trajectory back in time': lambda at: Trajectory(['a'], [1.0, 0.5], [[0.0], [1.0]]),
    'accelerations without velocities': lambda at: Trajectory(
        ['a'], [0.0], [[0.0]], accelerations=[[0.0]]
    ),
    'positions that are text': lambda at: Trajectory(['a'], [0.0], [['up']]),
    'positions of another shape': lambda at: Trajectory(['a'], [0.0], [[0.0, 1.0]]),
    'positions at infinity': lambda at: Trajectory(['a'], [0.0], [[math.inf]]),
    'a reference for an unknown joint': lambda at: referred('cranc'),
    'a reference for a free joint': lambda at: referred('free'),
    'a measured position that is nan': lambda at: LoopState(four_bar()[0], ['crank']).update(
        0.0, [math.nan]
    ),
    'measured joints that contradict': lambda at: LoopState(
        four_bar()[0], ['crank', 'coupler', 'rocker']
    ).update(0.0, [1.0, 2.0, -2.0]),
    'an unknown mode': lambda at: controlled(mode='magic'),
    'an unknown space': lambda at: Feel(space='task'),
    'a stiffness without damping': lambda at: Feel({'crank': (1.0,)}),
    'more than all of the inertia': lambda at: Feel(inertia_share=1.0),
    'friction that turns too steeply': lambda at: Feel(friction_speed=1e-6),
    'a spring on an unknown joint': lambda at: controlled(feel=Feel({'cranc': (1.0, 0.0)})),
    'a spring of an unknown motor': lambda at: controlled(
        feel=Feel({'rocker': (1.0, 0.0)}, space='actuator')
    ),
    'a spring on a ball that closes a loop': lambda at: TorqueController(
        ccd.load('exo_leg'), feel=Feel({ccd.load('exo_leg').loop_coordinate_names[-1]: (1.0, 0.0)})
    ),
    'an impedance of nothing': lambda at: controlled(mode='impedance'),
    'a blend backwards': lambda at: Blend(-1.0),
    'a wrench that is nan': lambda at: Sensors(four_bar()[0], links=['rocker_link']).take_wrench(
        'rocker_link', [math.nan] * 6, 0.0
    ),
    'a person with one effort for two joints': lambda at: Sensors(four_bar()[0]).take_human(
        ['crank', 'rocker'], [1.0], 0.0
    ),
    'a person at an unknown joint': lambda at: Sensors(four_bar()[0]).take_human(
        ['cranc'], [1.0], 0.0
    ),
    'a base that is a hinge': lambda at: BaseState(ccd.load(FLOATING), joint='hinge'),
    'a base of a robot that stands fixed': lambda at: BaseState(four_bar()[0]),
    'an IMU on the shank': lambda at: BaseState(ccd.load(HOPPER)).take_imu(
        [0, 0, 0, 1], [0, 0, 0], stamp=1.0, link='shank'
    ),
    'a base before it is heard': lambda at: BaseState(ccd.load(HOPPER)).join(
        LEG, np.zeros(2), np.zeros(2), stamp=1.0
    ),
    'a base that is silent': lambda at: silent_base(),
    'a base that is nan': lambda at: BaseState(ccd.load(HOPPER)).take_imu(
        [0, 0, 0, 1], [0, 0, math.nan], stamp=1.0
    ),
    'a base without orientation': lambda at: BaseState(ccd.load(HOPPER)).take_imu(
        [0, 0, 0, 0], [0, 0, 0], stamp=1.0
    ),
    'an unknown policy of a controller': lambda at: controlled(policy='least'),
    'a pose before it is known': lambda at: LoopState(four_bar()[0], ['crank']).known_q,
    'a reference before it came': lambda at: Reference(four_bar()[0]).at(0.0),
    'a controller without motors': lambda at: TorqueController(ccd.load(FLOATING)),
    'a gain for an unknown joint': lambda at: controlled(kp={'cranc': 1.0}),
    'a negative gain': lambda at: controlled(kd=-1.0),
    'nothing to follow': lambda at: controlled().torques(four_bar()[1], np.zeros(3)),
    'a share of zero': lambda at: TorqueGuard(four_bar()[0], effort_share=0.0),
    'a rate of zero': lambda at: TorqueGuard(four_bar()[0], rate_limit=0.0),
    'no power': lambda at: TorqueGuard(four_bar()[0], power_limit=0.0),
    'no zone': lambda at: JointLimits(four_bar()[0], soft_zone=0.0),
    'a hip beyond its limit': lambda at: asked_of_the_leg(['hip'], [1.0], [[2.5]]),
    'a hip in a hurry': lambda at: asked_of_the_leg(['hip'], [0.01], [[0.9]]),
    'a crank far away': lambda at: jumped(),
    'an ankle beyond its cranks': lambda at: asked_of_the_leg(
        ['ankle_pitch', 'ankle_roll'], [0.3], [[0.55, 0.3]]
    ),
    # contacts
    'an unknown signal': lambda at: ContactDetector('light', 2.0, 1.0),
    'a threshold at infinity': lambda at: ContactDetector('force', math.inf, 1.0),
    'thresholds swapped': lambda at: ContactDetector('force', 1.0, 2.0),
    'a negative dwell': lambda at: ContactDetector('force', 2.0, 1.0, dwell=-1.0),
    'a signal that is nan': lambda at: ContactDetector('force', 2.0, 1.0).update(0.0, math.nan),
    # MJCF
    'MJCF that floats': lambda at: mujoco({}, root_joint='floating'),
    'MJCF that includes': lambda at: mujoco({'more': '<include file="other.xml"/>'}),
    'MJCF without bodies': lambda at: mujoco({'world': ''}),
    'MJCF with an unknown joint': lambda at: mujoco({'joint': 'type="hinge2"'}),
    'MJCF with crossed limits': lambda at: mujoco({'joint': 'limited="true" range="1 -1"'}),
    'MJCF of an unknown body': lambda at: mujoco(
        {'more': '<equality><weld body1="leg"/></equality>'}
    ),
    'MJCF of an unknown actuated joint': lambda at: mujoco(
        {'more': '<equality><joint joint1="k"/></equality>'}
    ),
    'MJCF with a key of another model': lambda at: mujoco(
        {'more': '<keyframe><key qpos="1 2"/></keyframe>'}
    ),
    'MJCF with a nan': lambda at: mujoco({'joint': 'damping="nan"'}),
    'MJCF with a mesh from elsewhere': mesh_from_elsewhere,
    'MJCF with a negative damping': lambda at: mujoco({'joint': 'damping="-1"'}),
    'MJCF of too many copies': lambda at: mujoco(
        {'world': '<replicate count="1000000"><body/></replicate>'}
    ),
    'MJCF without its library': without_library('mujoco', lambda at: mujoco({})),
    # logs and view
    'a motion beyond all numbers': follows(
        'time,crank\n' + ''.join(f'{k}e-9,{(-1) ** k}e307\n' for k in range(5))
    ),
    'a mechanism too large for memory': too_large,
    'a log that is not there': lambda at: read_npz(at / 'absent.npz'),
    'a file that is no log': no_log,
    'a view of no samples': lambda at: LogSource(moving(log_every=0).log),
    'a pose held without mass': lambda at: Holding(without_mass(), np.zeros(1)),
    'no folder for equations': lambda at: command(
        'four_bar', '--c', at / 'none' / 'four_bar.c', module=derive
    )(at),
    'a port beyond all ports': lambda at: open_view(ModelSource(ccd.load('four_bar')), port=70000),
    'a host that is none': lambda at: open_view(
        ModelSource(ccd.load('four_bar')), port=0, host='192.0.2.1'
    ),
    'no viser': without_library(
        'viser',
        lambda at: open_view(None),
        *(f'closed_chain_dynamics.viewer.{each}' for each in ('window', 'scene', 'panel')),
    ),
}
