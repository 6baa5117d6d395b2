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

"""Calls that must be refused: id -> function of an empty folder."""

import argparse
from dataclasses import replace
import math
import os
import sys
from unittest import mock

from helpers.called_mechanisms import FLAT, FLOATING, described, four_bar, moving, without_mass
from helpers.called_where import command, with_program, without_library
from helpers.small_files import ARM, BASE, body, hinge, robot
import numpy as np

from benchmarks.agreement import agree
import closed_chain_dynamics as ccd
from closed_chain_dynamics.cli import bench as measuring, completion
from closed_chain_dynamics.description import LoopJoint, LoopType, Pose
from closed_chain_dynamics.model import library
from closed_chain_dynamics.simulation import stepping

__all__ = ['CALLS']

NO_SHELL = argparse.Namespace(shell='bash', json=False)
# A ball thrown at a floor that gives back all its speed, under another that does the same.
TRAPPED = robot(
    BASE,
    ARM,
    hinge('fall', 'base', 'arm', kind='prismatic', inside='<axis xyz="0 0 1"/>'),
    *(
        f'<constraint name="{name}" type="surface" active="false"><parent link="base"/>'
        f'<parent_origin xyz="0 0 {height}"/><child link="arm"/>'
        f'<cc:contact normal="0 0 {normal}" restitution="1"/></constraint>'
        for name, height, normal in (('floor', -1e-4, 1), ('ceiling', 1e-4, -1))
    ),
)


def torn(*cuts):
    """Return a simulation of the four-bar that has fallen apart."""
    sim = moving()
    sim.cut(*cuts)
    sim.run(0.3)
    return sim


def held(joints, **options):
    """Assemble the four-bar with joints held."""
    return ccd.assemble(four_bar()[0], joints, **options)


def completed(rates):
    """Complete a velocity of the four-bar."""
    return ccd.complete_velocity(*four_bar(), rates)


def torques(tau, **options):
    """Move the four-bar with torques."""
    return ccd.forward_dynamics(*four_bar(), np.zeros(3), tau, **options)


def needed(**options):
    """Ask for the torques that hold the four-bar."""
    return ccd.inverse_dynamics(*four_bar(), np.zeros(3), np.zeros(3), **options)


def preloaded():
    """Ask for more preload than a motor can give."""
    motor = ccd.load(
        FLOATING.replace('"floating"', '"revolute" cc:role="actuated"').replace(
            '</joint>', '<limit lower="-1" upper="1" effort="2" velocity="1"/></joint>'
        )
    )
    return ccd.inverse_dynamics(motor, [0.0], [0.0], [0.0], policy='within_limits', preload=[3.0])


def unmovable_loop():
    """Connect a loop between two links that are fixed to each other elsewhere, and close it."""
    weld = LoopJoint('weld', LoopType.FIXED, 'world', 'base', Pose((0.1, 0.0, 0.0)), active=False)
    mechanism = ccd.Mechanism(described(loops=(weld,)))
    mechanism.connect('weld')
    return ccd.assemble(mechanism)


def parallelogram(q=0.0):
    """Return a parallelogram, its pose folded flat for an angle of zero, and its velocity."""
    bars = [body(name) for name in ('left', 'top', 'right')]
    axis = '<origin xyz="{} 0 0"/><axis xyz="0 0 1"/>'
    mechanism = ccd.load(
        robot(
            BASE,
            *bars,
            hinge('a', 'base', 'left', inside=axis.format(0), kind='continuous'),
            hinge('b', 'left', 'top', inside=axis.format(1), kind='continuous'),
            hinge('c', 'base', 'right', inside=axis.format(2), kind='continuous'),
            '<constraint name="pin" type="spherical"><parent link="top"/>'
            '<parent_origin xyz="2 0 0"/>'
            '<child link="right"/><child_origin xyz="1 0 0"/></constraint>',
        )
    )
    return mechanism, np.array([q, -q, q]), np.array([1.0, -1.0, 1.0])


def between_branches():
    """Ask a folded parallelogram to move on two branches at once."""
    mechanism, q, _ = parallelogram()
    c = ccd.coordinates(mechanism, q)
    v = c.W @ np.random.default_rng(0).normal(size=c.mobility)
    return ccd.complete_acceleration(mechanism, q, v)


def folding(angle=0.03, mu=0.2):
    """Return a two-link arm whose tip, pressed on the floor, is jammed by friction."""
    description = ccd.load('two_link').description
    loops = tuple(
        replace(loop, contact=replace(loop.contact, mu=mu)) for loop in description.loops
    )
    mechanism = ccd.Mechanism(replace(description, loops=loops))
    return mechanism, np.array([-math.pi + angle, math.pi - 2 * angle]), np.array([-0.2, 0.4])


def without_rest(at):
    """Let a body rattle between two stops where hardly an event is allowed in a step."""
    with mock.patch.object(stepping, 'MOST_EVENTS', 2):
        ccd.Simulation(ccd.load(TRAPPED), q=[0.0], v=[100.0], dt=1e-2).run(0.1)


def sliding(function):
    """Let a point slide on a surface."""
    ccd.load(FLAT).set_surface('on', function)


def moved_away(at):
    """Look for the models of a package whose share folder was not installed with it."""
    code = at / 'closed_chain_dynamics' / 'model' / 'library.py'
    with (
        mock.patch.object(library, '__file__', str(code)),
        mock.patch.object(sys, 'prefix', str(at)),
        mock.patch.dict(os.environ, {'AMENT_PREFIX_PATH': ''}),
    ):
        library.share_folder()


def without_benchmarks(at):
    """Measure with a package whose benchmarks were not installed with it."""
    with mock.patch.object(measuring, 'share_folder', return_value=at):
        measuring.side_by_side()


CALLS = {
    # mechanism and state
    'a text too long for a file': lambda at: ccd.load('four_bar' * 1000),
    'an unknown policy for inertias': lambda at: ccd.load('four_bar', inertia='guess'),
    'gravity of two numbers': lambda at: ccd.load('four_bar', gravity=(0.0, 9.8)),
    'a q that is text': lambda at: ccd.coordinates(four_bar()[0], 'zero'),
    'a q of a wrong size': lambda at: ccd.coordinates(four_bar()[0], np.zeros(2)),
    'a q that is not finite': lambda at: ccd.energy(
        four_bar()[0], np.array([math.nan, 0.0, 0.0]), np.zeros(3)
    ),
    'an open loop': lambda at: ccd.coordinates(four_bar()[0], np.zeros(3)),
    'no rotation': lambda at: ccd.energy(ccd.load(FLOATING), np.zeros(7), np.zeros(6)),
    'no mass': lambda at: ccd.forward_dynamics(without_mass(), [0.0], [0.0]),
    'an unknown link': lambda at: ccd.link_placement(*four_bar(), 'cranc_link'),
    'an unknown joint': lambda at: four_bar()[0].joint_slices('cranc'),
    'an unknown loop': lambda at: four_bar()[0].copy().cut('cupler_rocker'),
    'a point at infinity': lambda at: ccd.jacobian(*four_bar(), 'base', point=(0, 0, math.inf)),
    'a wrench without end': lambda at: torques(None, wrenches={'crank_link': 6 * [math.inf]}),
    # assembly and completion
    'an unknown hint': lambda at: held({}, hint='elbow_upp'),
    'an unknown held joint': lambda at: held({'cranc': 1.0}),
    'held joints without names': lambda at: held([1.0]),
    'a held joint that is text': lambda at: held({'crank': 'up'}),
    'a held joint with two numbers': lambda at: held({'crank': (1.0, 2.0)}),
    'a held joint that is nan': lambda at: held({'crank': math.nan}),
    'a pose out of reach': lambda at: held({'rocker': 0.5}),
    'all joints held': lambda at: held({'crank': 0.0, 'coupler': 0.0, 'rocker': 0.0}),
    'a loop that nothing can close': lambda at: unmovable_loop(),
    'a joint held beyond its range': lambda at: ccd.assemble(
        ccd.load(
            robot(BASE, ARM, hinge('j', 'base', 'arm', inside='<limit lower="-1" upper="1"/>'))
        ),
        {'j': 2.0},
    ),
    'an open loop joint held': lambda at: ccd.assemble(
        ccd.load(FLAT.replace('surface', 'revolute')), {'on': 0.0}
    ),
    'one turn of a ball held': lambda at: ccd.assemble(
        ccd.load(FLAT.replace('surface" active="false', 'spherical')), {'on:wx': 0.0}
    ),
    'a rate of an unknown joint': lambda at: completed({'cranc': 1.0}),
    'a rate given twice': lambda at: ccd.complete_velocity(
        ccd.load(FLOATING), [0, 0, 0, 0, 0, 0, 1], {'free': 6 * [1.0], 'free:vx': 2.0}
    ),
    'a velocity with nan': lambda at: completed([math.nan, 0.0, 0.0]),
    'rates that contradict': lambda at: completed({'crank': 1.0, 'rocker': 9.0}),
    'a velocity that opens': lambda at: ccd.complete_acceleration(*four_bar(), np.ones(3)),
    'no way between branches': lambda at: between_branches(),
    'a singular pose refused': lambda at: ccd.forward_dynamics(
        *parallelogram(), singularity='refuse'
    ),
    'an unknown singularity policy': lambda at: torques(None, singularity='ignore'),
    # torques
    'torques that are text': lambda at: torques('all'),
    'torques of a wrong size': lambda at: torques(np.zeros(5)),
    'a torque that is nan': lambda at: torques({'crank': math.nan}),
    'a torque on a passive joint': lambda at: torques({'rocker': 1.0}),
    'a torque on an unknown joint': lambda at: torques({'cranc': 1.0}),
    'an unknown policy': lambda at: needed(policy='least'),
    'weights without the policy': lambda at: needed(weights={'crank': 2.0}),
    'a weight of zero': lambda at: needed(policy='weighted', weights={'crank': 0.0}),
    'too much preload': lambda at: preloaded(),
    'an unknown split': lambda at: ccd.reactions(
        *four_bar(), np.zeros(3), np.zeros(3), split='half'
    ),
    'a reaction to infinity': lambda at: ccd.reactions(
        *four_bar(), np.zeros(3), np.zeros(3), extra=3 * [math.inf]
    ),
    'a reaction in an unknown joint': lambda at: ccd.reactions(
        *four_bar(), np.zeros(3), np.zeros(3)
    )['cranc'],
    # simulation and structure
    'a step of zero': lambda at: moving().__class__(four_bar()[0], dt=0.0),
    'an unknown integrator': lambda at: moving(integrator='rk5'),
    'generated steps of the adaptive integrator': lambda at: moving(
        integrator='adaptive', compiled=True
    ),
    'half a log': lambda at: moving(log_every=0.5),
    'a tolerance of zero': lambda at: moving(tolerance=0.0),
    'a negative duration': lambda at: moving().run(-1.0),
    'a torque without bounds': lambda at: ccd.Simulation(ccd.load('pendulum'), dt=1e-2).run(
        0.5, [1e200]
    ),
    'a step too large': lambda at: ccd.Simulation(
        *four_bar(), completed({'crank': 60.0}), dt=0.05, integrator='euler'
    ).run(5.0, {'crank': 20.0}),
    'contacts without rest': without_rest,
    'friction that locks': lambda at: ccd.forward_dynamics(*folding()),
    'friction that locks inverse dynamics': lambda at: ccd.inverse_dynamics(
        *folding(), np.zeros(2)
    ),
    'friction that locks a simulation': lambda at: ccd.Simulation(
        folding()[0], *folding()[1:]
    ).run(0.1),
    'a connection twice': lambda at: moving().connect('coupler_rocker'),
    'a connection of a joint that holds': lambda at: moving().connect('crank'),
    'a connection by an unknown name': lambda at: moving().connect('cupler_rocker'),
    'a cut by an unknown name': lambda at: moving().cut('cupler_rocker'),
    'a cut twice': lambda at: torn('coupler').cut('coupler'),
    'a loop far apart': lambda at: torn('coupler_rocker').connect('coupler_rocker'),
    'a joint far apart': lambda at: torn('coupler').connect('coupler'),
    'a connection that stops all': lambda at: ccd.Simulation(
        ccd.load(
            robot(
                BASE,
                ARM,
                hinge('j', 'base', 'arm'),
                '<constraint name="weld" type="fixed" active="false"><parent link="base"/>'
                '<child link="arm"/></constraint>',
            )
        )
    ).connect('weld'),
    'a surface on a hinge': lambda at: four_bar()[0].copy().set_surface('coupler_rocker', min),
    'a wheel on a surface of its own': lambda at: ccd.load(
        FLAT.replace('</constraint>', '<cc:contact ball="0.1"/></constraint>')
    ).set_surface('on', lambda x, y, z: z),
    'a surface that is not smooth': lambda at: sliding(lambda x, y, z: abs(x) + z),
    'a surface that is nowhere': lambda at: sliding(lambda x, y, z: 3.0 + 0.0 * x),
    'a surface of two numbers': lambda at: sliding(lambda x, y: x - y),
    # logs and pictures
    'a log of an unknown joint': lambda at: moving().log.joint('cranc'),
    'reactions of an unknown joint': lambda at: moving().log.reactions('cranc'),
    'a figure of a wrong kind': lambda at: moving().log.plot(at / 'run.docx'),
    'a film of a wrong kind': lambda at: moving().log.record(at / 'run.avi'),
    'a film without pictures': lambda at: moving().log.record(at / 'run.gif', fps=0),
    'a film from nowhere': lambda at: moving().log.record(at / 'run.gif', view='back'),
    'a film of no samples': lambda at: moving(log_every=0).log.record(at / 'run.gif'),
    'a film of nothing': lambda at: ccd.Simulation(
        ccd.load('<robot name="r"><link name="a"/></robot>')
    ).log.record(at / 'run.gif'),
    'no folder to write to': lambda at: moving().log.plot(at / 'none' / 'run.png'),
    'a log onto a folder': lambda at: moving().log.to_csv(at),
    'a bag onto a bag': lambda at: moving().log.to_mcap(at),
    'no argcomplete': without_library('argcomplete', lambda at: completion.run(NO_SHELL)),
    'no matplotlib': without_library('matplotlib', lambda at: moving().log.plot(at / 'a.png')),
    'no pillow': without_library('PIL', lambda at: moving().log.record(at / 'a.gif')),
    'no rosbags': without_library('rosbags', lambda at: moving().log.to_mcap(at / 'a')),
    'no ffmpeg': with_program((), lambda at: moving().log.record(at / 'a.mp4')),
    'an ffmpeg that fails': with_program(
        ('echo no such codec >&2', 'exit 1'), lambda at: moving().log.record(at / 'a.mp4')
    ),
    # the package
    'an event of an unknown joint': command('four_bar', '--cut', 'cranc@0.5'),
    'engines that disagree': lambda at: agree(
        mock.Mock(key='M1'), 'another engine', {'tau_O': (1e-3, 1e-10)}
    ),
    'models that were moved away': moved_away,
    'benchmarks that were left out': without_benchmarks,
}
