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

"""Torques by generated code are those of the kernels, and nobody waits for the code."""

from threading import Event
import time

import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.codegen.background import BackgroundBuild
from closed_chain_dynamics.control import generated_law
from closed_chain_dynamics.control.control_loop import ControlLoop
from closed_chain_dynamics.control.generated_law import COMPILING, TOO_FEW, GeneratedLaw
from closed_chain_dynamics.control.law import TorqueController
from closed_chain_dynamics.control.reference import Reference
from closed_chain_dynamics.control.sensed import Sensed
from closed_chain_dynamics.control.torque_guard import TorqueGuard

pytest.importorskip('casadi')

MODES = ('computed_torque', 'feedforward', 'gravity_compensation')
SAME = 1e-12  # what compiled mechanisms promise, of the largest torque
# elimination and recursion sum in other orders, and feedback multiplies the differences by 400
ROUNDING = 1e-10
PATIENCE = 600.0  # for a compiler on a busy machine [s]
POSES = {'five_bar': {}, 'exo_leg': {'hip': 0.0, 'knee': 0.4, 'ankle_pitch': 0.1}, 'stewart': {}}


def moving(model):
    """Return a mechanism, a state, and a reference a little away from it."""
    robot = ccd.load(model)
    q = ccd.assemble(robot, POSES[model])
    name = next(n for n in ccd.coordinates(robot, q).independent if n in robot.joint_names)
    v = ccd.complete_velocity(robot, q, {name: 0.3})
    reference = Reference(robot)
    there = q[robot.joint_slices(name)[0]][0] + 0.05
    reference.take([name], [0.1], [[there]], time=0.0, q=q, v=v)
    return robot, (q, v), reference.at(0.02)


def prepared(robot, **options):
    """Return a controller whose code is there."""
    controller = TorqueController(robot, generated=GeneratedLaw(robot), **options)
    controller.generated.prepare()
    return controller


@pytest.mark.parametrize('mode', MODES)
@pytest.mark.parametrize('model', POSES)
def test_torques_by_generated_code_are_those_of_the_kernels(model, mode):
    robot, state, reference = moving(model)
    generic = TorqueController(robot, mode=mode).torques(*state, reference)
    controller = prepared(robot, mode=mode)
    found = controller.torques(*state, reference)
    assert controller.by_code, controller.generated.reason
    assert np.abs(generic.tau_A).max() > 1e-2
    tolerance = ROUNDING if mode == 'computed_torque' else SAME
    np.testing.assert_allclose(
        found.tau_A,
        generic.tau_A,
        rtol=0.0,
        atol=tolerance * max(np.abs(generic.tau_A).max(), 1.0),
    )
    assert found.error == pytest.approx(generic.error, rel=1e-12)
    assert not found.residual


def test_wrenches_that_code_does_not_know_are_left_to_the_kernels():
    robot, state, reference = moving('five_bar')
    sensed = Sensed(wrenches={robot.link_names[-1]: np.array([0.0, 0.0, 5.0, 0.0, 0.0, 0.0])})
    controller = prepared(robot)
    found = controller.torques(*state, reference, sensed)
    assert not controller.by_code
    generic = TorqueController(robot).torques(*state, reference, sensed)
    np.testing.assert_array_equal(found.tau_A, generic.tau_A)
    assert np.abs(found.tau_A - controller.torques(*state, reference).tau_A).max() > 0.1
    assert controller.by_code


def test_where_motors_do_not_drive_everything_the_kernels_answer_and_it_is_told():
    robot = ccd.load('swing')
    controller = prepared(robot)
    assert controller.generated.reason == TOO_FEW
    assert controller.generated.code(ccd.assemble(robot)) == 0


def follow(loop, robot, q, turns, first=0):
    """Let a loop hold a pose; return the torques."""
    found = []
    for k in range(first, first + turns):
        now = 1e-3 * k
        tau = loop.take_state(robot.joint_names, q, np.zeros(robot.nv), stamp=now, now=now)
        found.append(None if tau is None else tau.copy())
        loop.look_ahead()
    return found


@pytest.mark.parametrize('power', [np.inf, 1e9])  # turns in one call, and step by step
def test_a_control_loop_gives_the_same_torques_with_and_without(power):
    found = []
    for compiled in (True, False):
        robot = ccd.load('exo_leg')
        q = ccd.assemble(robot, POSES['exo_leg'])
        law = prepared(robot) if compiled else TorqueController(robot)
        loop = ControlLoop(law, TorqueGuard(robot, power_limit=power))
        follow(loop, robot, q, 2)
        loop.take_reference(['knee'], [0.2], [[0.45]])
        found.append(follow(loop, robot, q, 40, 2)[1:])
        assert law.by_code is compiled
        told = loop.describe().get('torques by')
        assert told == ('generated code' if compiled else None)
    np.testing.assert_allclose(
        found[0], found[1], rtol=0.0, atol=ROUNDING * np.abs(found[1]).max()
    )


def driven_everywhere():
    """Return a loop with a five-bar whose joints all have motors, its code made, and its pose."""
    robot = ccd.load('five_bar', actuated=ccd.load('five_bar').joint_names)
    q = ccd.assemble(robot)
    loop = ControlLoop(prepared(robot), TorqueGuard(robot))
    follow(loop, robot, q, 2)
    loop.take_reference(['left_shoulder'], [0.2], [q[robot.joint_slices('left_shoulder')[0]]])
    follow(loop, robot, q, 5, 2)
    assert loop.controller.by_code, loop.controller.generated.reason
    return loop, robot, q


def await_code(loop, robot, q, first):
    """Take turns until there is code; return the number of the next turn."""
    end = time.monotonic() + PATIENCE
    while loop.controller.generated.reason == COMPILING:
        assert time.monotonic() < end
        tau = follow(loop, robot, q, 1, first)[0]
        assert tau is not None and not loop.reason
        first += 1
        time.sleep(1e-3)
    return first


class Held(BackgroundBuild):
    """Is not done before it is let go on, even if the test stands still for long."""

    go_on = Event()

    def complaint(self):
        assert self.go_on.wait(PATIENCE)
        return super().complaint()


def test_a_change_of_the_structure_leaves_turns_to_the_kernels_until_its_code_is_there(
    monkeypatch, tmp_path
):
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path))  # no code is there yet
    loop, robot, q = driven_everywhere()
    monkeypatch.setattr(generated_law, 'BackgroundBuild', Held)
    law, name = loop.controller, robot.loop_names[0]
    loop.cut(name)
    follow(loop, robot, q, 5, 7)  # code takes seconds to generate, and nobody waits
    assert not law.by_code and law.generated.reason == COMPILING
    assert COMPILING in loop.describe()['torques by']
    Held.go_on.set()
    first = await_code(loop, robot, q, 12)
    follow(loop, robot, q, 3, first)
    assert law.by_code, law.generated.reason
    generic = TorqueController(robot).torques(
        q, np.zeros(robot.nv), loop.reference.at(1e-3 * first)
    )
    np.testing.assert_allclose(
        law.torques(q, np.zeros(robot.nv), loop.reference.at(1e-3 * first)).tau_A,
        generic.tau_A,
        rtol=0.0,
        atol=ROUNDING * np.abs(generic.tau_A).max(),
    )
    loop.connect(name)  # its code is still there
    follow(loop, robot, q, 4, first + 3)
    assert law.by_code and not law.generated.reason
