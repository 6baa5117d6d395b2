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

"""Calls about generated code that must be refused: id -> function of an empty folder."""

from dataclasses import replace
from functools import cache
import os
from unittest import mock

from helpers.called_where import without
from helpers.folding_linkages import parallelogram
from helpers.single_joints import pendulum
from helpers.tendon_arms import cart
import numpy as np

import closed_chain_dynamics as ccd
from closed_chain_dynamics.model import changes

__all__ = ['CODE']


@cache
def compiled():
    """Return the generated code of a four-bar."""
    robot = ccd.load('four_bar')
    return robot.compile(ccd.assemble(robot, {'crank': 1.0}))


def closed_pose():
    return compiled().source.q


def changed():
    """Return generated code whose mechanism has another structure by now."""
    robot = ccd.load('four_bar')
    fast = robot.compile(closed_pose())
    robot.cut('coupler_rocker')
    return fast


def almost_on_a_shape():
    """Differentiate where a path touches a cylinder from within, and begins almost on it."""
    robot = cart('cylinder', '0 0.1 0')
    ccd.derivatives(robot, (0.5 + 1e-12) * np.array([np.cos(3.1), np.sin(3.1), 0.0]), np.zeros(3))


def rolled(**options):
    return compiled().rollout(closed_pose()[None], np.zeros((1, 3)), **{'steps': 1, **options})


def with_compiler(lines, call):
    """Return a call that is made where the compiler is a program with these lines."""

    def run(at):
        program = at / 'compiler'
        program.write_text('\n'.join(['#!/bin/sh', *lines]))
        program.chmod(0o755)
        with mock.patch.dict(os.environ, {'CC': str(program), 'XDG_CACHE_HOME': str(at)}):
            call()

    return run


def no_program(at):
    """Compile where CC names a file that is no program."""
    (at / 'cc').write_bytes(b'\x01')
    (at / 'cc').chmod(0o755)
    with mock.patch.dict(os.environ, {'CC': str(at / 'cc'), 'XDG_CACHE_HOME': str(at)}):
        compile_four_bar()


def with_cache(prepare, call):
    """Return a call that is made with a cache folder that was tampered with."""

    def run(at):
        prepare(at)
        with mock.patch.dict(os.environ, {'XDG_CACHE_HOME': str(at)}):
            call()

    return run


def compile_four_bar():
    robot = ccd.load('four_bar')
    robot.compile(ccd.assemble(robot, {'crank': 1.1}))


def full_disk(at):
    """Compile where nothing can be written any more."""
    with (
        mock.patch.dict(os.environ, {'XDG_CACHE_HOME': str(at)}),
        mock.patch(
            'closed_chain_dynamics.codegen.cache.tempfile.mkstemp',
            side_effect=OSError(28, 'No space left on device'),
        ),
    ):
        compile_four_bar()


def full_scratch(at):
    """Compile where not even the C text can be written."""
    with (
        mock.patch.dict(os.environ, {'XDG_CACHE_HOME': str(at)}),
        mock.patch(
            'closed_chain_dynamics.codegen.compiler.Path.write_text',
            side_effect=OSError(28, 'No space left on device'),
        ),
    ):
        compile_four_bar()


def without_casadi(at):
    robot, q = compiled().robot, closed_pose()  # all else is imported by now
    with without('casadi'):
        robot.compile(q)


def without_compiler(at):
    with mock.patch.dict(os.environ, {'CC': 'nothing'}):
        compile_four_bar()


def pivots_in_a_singular_pose(at):
    """Trace with pivots sought where a parallelogram lies flat."""
    from closed_chain_dynamics.codegen.gathering import gather
    from closed_chain_dynamics.codegen.traces import trace

    robot = parallelogram()
    source = gather(robot, ccd.assemble(robot, {'crank': 1.0}))
    trace(replace(source, q=np.zeros(robot.nq)), 'newton_step')


def damped_by_a_cut_joint(at):
    """Ask for a derivative by the damping of a joint that does not turn any more."""
    robot = ccd.load('four_bar')
    q, v = changes.cut(robot, 'coupler', closed_pose(), np.zeros(3))
    ccd.codegen.step_derivatives(robot, q, v, parameters=['damping:coupler'])


def exported_onto_a_file(at):
    (at / 'file').write_text('')
    ccd.codegen.export(ccd.load('four_bar'), at / 'file')


def at_its_stop(at):
    """Compile the mechanism of a simulation that rests at a stop."""
    sim = ccd.Simulation(pendulum(limits=(0.2, 2.0)), q=[0.5])
    sim.run(2.0)
    sim.robot.compile(sim.q)


def differentiated(*parameters, robot=None, **options):
    """Ask for derivatives of a step of a four-bar in motion."""
    robot = robot or ccd.load('four_bar')
    q = ccd.assemble(robot, {'crank': 1.0})
    v = ccd.complete_velocity(robot, q, {'crank': 40.0})
    ccd.codegen.step_derivatives(robot, q, v, parameters=parameters, **options)


def weightless():
    description = ccd.load('four_bar').description
    links = tuple(replace(each, gravcomp=1.0) for each in description.links)
    return ccd.Mechanism(replace(description, links=links))


CODE = {
    'derivatives by an unknown method': lambda at: differentiated(integrator='heun'),
    'derivatives of no step': lambda at: differentiated(dt=0.0),
    'derivatives of a step that is far too long': lambda at: differentiated(dt=0.1),
    'derivatives by an unknown parameter': lambda at: differentiated('colour:crank'),
    'derivatives by a mass that nothing has': lambda at: differentiated('mass:nothing'),
    'derivatives by the length of what carries nothing': lambda at: differentiated('length:world'),
    'derivatives by a mass that is carried from outside': lambda at: differentiated(
        'mass:coupler_link', robot=weightless()
    ),
    'code without CasADi': without_casadi,
    'code without a compiler': without_compiler,
    'code that a compiler refuses': with_compiler(
        ('case "$*" in *generated.c*) echo "error: no" >&2; exit 1;; esac',), compile_four_bar
    ),
    'code by what is no program': no_program,
    'code by a compiler without room': with_compiler(
        ('case "$*" in *generated.c*-lm*) echo "No space left on device" >&2; exit 1;; esac',),
        compile_four_bar,
    ),
    'code for another machine': with_compiler(
        ('while [ $# -gt 0 ] && [ "$1" != -o ]; do shift; done', 'echo other > "${2:-/dev/null}"'),
        compile_four_bar,
    ),
    'code with a file as cache': with_cache(
        lambda at: (at / 'closed_chain_dynamics').write_text(''), compile_four_bar
    ),
    'code on a full disk': full_disk,
    'code on a full scratch disk': full_scratch,
    'derivatives of a path that begins almost on a shape': lambda at: almost_on_a_shape(),
    'code of a sliding contact': lambda at: ccd.load('three_link').compile(),
    'derivatives by the damping of a cut joint': damped_by_a_cut_joint,
    'code of a joint at its stop': at_its_stop,
    'code in a singular pose': lambda at: parallelogram().compile(np.zeros(3)),
    'pivots in a singular pose': pivots_in_a_singular_pose,
    'code written onto a file': exported_onto_a_file,
    'compiled coordinates of another structure': lambda at: changed().coordinates(closed_pose()),
    'a roll-out of another structure': lambda at: changed().rollout(
        closed_pose()[None], np.zeros((1, 3)), steps=1
    ),
    'a roll-out of no steps': lambda at: rolled(steps=0),
    'a roll-out by an unknown method': lambda at: rolled(integrator='heun'),
    'a roll-out with torques for other steps': lambda at: rolled(tau=np.zeros((1, 7, 1))),
    'a step from an open pose': lambda at: compiled().step(closed_pose() + 0.3, np.zeros(3)),
    'a compiled completion of something else': lambda at: compiled().complete_velocity(
        closed_pose(), {'rocker': 1.0}
    ),
    'a compiled completion of other states': lambda at: compiled().complete_velocity(
        np.tile(closed_pose(), (3, 1)), {'crank': np.zeros(2)}
    ),
    'a compiled completion of too many rates': lambda at: compiled().complete_velocity(
        closed_pose(), [1.0, 2.0]
    ),
    'compiled derivatives of a batch': lambda at: compiled().derivatives(
        np.zeros((2, 3)), np.zeros((2, 3))
    ),
    'a batch of words': lambda at: compiled().rollout([['a']], np.zeros((1, 3)), steps=1),
    'a batch of another width': lambda at: compiled().forward_dynamics(
        np.zeros((2, 4)), np.zeros((2, 3))
    ),
    'a batch of two lengths': lambda at: compiled().inverse_dynamics(
        np.zeros((2, 3)), np.zeros((3, 3)), np.zeros((2, 3))
    ),
}
