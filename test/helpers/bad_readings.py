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

"""Files that cannot be read, descriptions that cannot be, and conversions that are refused."""

from dataclasses import replace
from importlib.util import find_spec
import math
import sys
from unittest import mock

from helpers.called_mechanisms import FLOATING, PUCK, described, four_bar
from helpers.called_where import without_library
from helpers.small_files import GOOD, robot, sdf_joint, sdf_model
import numpy as np

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import (
    Coupling,
    CouplingTerm,
    Link,
    LoopJoint,
    LoopType,
    Pose,
    check,
    convert,
    read,
    to_pinocchio,
    to_urdf_parser,
)

__all__ = ['READINGS', 'beside']

XACRO = '<robot name="r" xmlns:xacro="http://ros.org/wiki/xacro"><xacro:arm/></robot>'
DOWN = (0.0, 0.0, -9.80665)


def welded_wrong():
    """Join two links that are fixed to each other where they are not."""
    weld = LoopJoint('weld', LoopType.FIXED, 'world', 'base', Pose((0.1, 0.0, 0.0)))
    return ccd.Mechanism(described(loops=(weld,)))


def beside(text):
    """Return a call that reads a good file with this YAML beside it."""

    def run(at):
        (at / 'robot.urdf').write_text(robot(*GOOD))
        (at / 'robot.yaml').write_text(text)
        read(at / 'robot.urdf')

    return run


def file_of(text, name='robot.urdf'):
    """Return a call that reads a file with this text."""

    def run(at):
        (at / name).write_text(text)
        read(at / name)

    return run


def saved_beside_yaml(at):
    """Save a file where it would be read with the loops of another."""
    (at / 'robot.yaml').write_text('closed_loop: []')
    four_bar()[0].save(at / 'robot.urdf')


def without_pinocchio(at):
    """Write a model for a library that is not there."""
    with mock.patch.dict(sys.modules, {'pinocchio': None}):
        to_pinocchio(four_bar()[0].description)


def models_of_pinocchio():
    """Return calls with models that are not read; none where Pinocchio is not installed."""
    if find_spec('pinocchio') is None:
        return {}
    import pinocchio as pin

    translation, uneven = pin.Model(), pin.Model()
    translation.addJoint(0, pin.JointModelTranslation(), pin.SE3.Identity(), 'slide')
    uneven.addJoint(0, pin.JointModelSpherical(), pin.SE3.Identity(), 'ball')
    uneven.damping = np.array([1.0, 2.0, 3.0])
    arm = pin.buildSampleModelManipulator()
    return {
        'a Pinocchio joint that is not read': lambda at: read(translation),
        'a Pinocchio joint with several dampings': lambda at: read(uneven),
        'a Pinocchio model that is to float': lambda at: read(arm, root_joint='floating'),
        'a constraint that is none': lambda at: read((arm, ['loop']), inertia='trust'),
        'Pinocchio that is not installed': without_pinocchio,
    }


PINOCCHIO = models_of_pinocchio()


# id -> function of an empty folder
READINGS = {
    # files
    'a missing file': lambda at: read(at / 'absent.urdf'),
    'a missing model file': lambda at: ccd.load(at / 'absent.urdf'),
    'a missing folder': lambda at: ccd.load(at / 'absent' / 'arm.urdf'),
    'a folder as a file': lambda at: read(at),
    'a folder as a model': lambda at: ccd.load(at),
    'a misspelt model': lambda at: ccd.load('four_bra'),
    'an empty file': file_of(''),
    'a file of loops': file_of('closed_loop: []', 'robot.yaml'),
    'a file that cannot be read': lambda at: read('/proc/self/mem'),
    'a huge text': lambda at: read('<robot>' + 2**26 * ' '),
    'no path and no text': lambda at: read(3),
    'a text with macros': lambda at: read(XACRO),
    'a macro that is not there': file_of(XACRO, 'arm.xacro'),
    'deep YAML': beside('closed_loop: ' + 600 * '['),
    'a wrong root joint': lambda at: read(robot(*GOOD), root_joint='free'),
    'floating twice': lambda at: read(FLOATING, root_joint='floating'),
    'world taken': lambda at: read(
        robot(*GOOD).replace('"tip"', '"world"'), root_joint='floating'
    ),
    'saved beside a YAML': saved_beside_yaml,
    'saved onto a folder': lambda at: four_bar()[0].save(at),
    'a name that XML cannot spell': lambda at: ccd.Mechanism(described(name='\1')).save(
        at / 'x.urdf'
    ),
    # descriptions built by hand
    'a link without name': lambda at: check(described(links=(Link(''),), joints=(), loops=())),
    'an actuator without joint': lambda at: check(
        described(actuators=(replace(four_bar()[0].description.actuators[0], joint='cranc'),))
    ),
    'a coupling of a loop joint': lambda at: ccd.Mechanism(
        described(couplings=(Coupling('gear', (CouplingTerm('coupler_rocker', (1.0,)),)),))
    ),
    'a weld in a wrong place': lambda at: welded_wrong(),
    # conversions
    'a conversion to an unknown suffix': lambda at: convert(read(PUCK), at / 'm.step', DOWN),
    'a conversion to an unknown format': lambda at: convert(
        read(PUCK), at / 'm.urdf', DOWN, to='urdf2'
    ),
    'a conversion of a planar joint to MJCF': lambda at: convert(read(PUCK), at / 'm.xml', DOWN),
    'a conversion of a planar joint to SDF': lambda at: convert(read(PUCK), at / 'm.sdf', DOWN),
    'a conversion of a planar joint to URDF for Drake': lambda at: convert(
        read(PUCK), at / 'm.urdf', DOWN, to='drake'
    ),
    'a conversion to SDF in a pose with open loops': lambda at: convert(
        ccd.load('four_bar').description, at / 'm.sdf', DOWN
    ),
    'a conversion to SDF in a pose of another mechanism': lambda at: convert(
        read(FLOATING), at / 'm.sdf', DOWN, pose={'crank': 1.0}
    ),
    'a conversion to SDF in a pose that is not finite': lambda at: convert(
        ccd.load('four_bar').description, at / 'm.sdf', DOWN, pose={'crank': math.nan}
    ),
    'a conversion of a name with a bell to SDF': lambda at: convert(
        replace(read(FLOATING), name='bell\x07'), at / 'm.sdf', DOWN
    ),
    'an export without its library': without_library(
        'urdf_parser_py', lambda at: to_urdf_parser(read(PUCK))
    ),
    'a cut of a joint that an SDF has not': lambda at: read(
        f'<sdf version="1.9">{sdf_model("", sdf_joint("fixed"))}</sdf>', cut=['k']
    ),
    'arguments for a file without macros': lambda at: ccd.load('four_bar', xacro_args={'a': 1}),
    **PINOCCHIO,
}
