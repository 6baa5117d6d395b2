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

"""Simulations in generated code against the generic kernels: steps, books, logs and events."""

from dataclasses import replace
import json
import time

from helpers.code_in_the_background import PATIENCE, await_code
import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.cli.main import main
from closed_chain_dynamics.codegen.runner import REASONS, Asked
from closed_chain_dynamics.description.elements import Dynamics, LimitMoment, Spring
from closed_chain_dynamics.simulation.generated_steps import (
    COMPILING,
    CONTACTS,
    HELD_JOINT,
    WRENCHES,
)

SAME = 1e-12  # in one step, relative to the largest of 1 and the velocities
STEPS = 40


def pair_of(robot, seed=1, speed=0.5, **options):
    """Return the same simulation twice, in generated code and not, and torques."""
    rng = np.random.default_rng(seed)
    q = ccd.assemble(robot)
    v = ccd.complete_velocity(robot, q, speed * rng.normal(size=robot.nv))
    fast = ccd.Simulation(robot, q=q, v=v, compiled=True, **options)
    tau = rng.normal(size=len(robot.actuator_names))
    return fast, ccd.Simulation(robot, q=q, v=v, **options), tau


def assert_same(fast, core, tolerance):
    size = max(1.0, np.abs(core.v).max())
    assert np.abs(fast.q - core.q).max() < tolerance
    assert np.abs(fast.v - core.v).max() < tolerance * size
    energy = max(1.0, abs(float(core.energy())))
    for name in ('kinetic', 'potential', 'work', 'dissipated'):
        difference = getattr(fast.energy(), name) - getattr(core.energy(), name)
        assert abs(difference) < tolerance * energy, name


def sprung():
    """Return a four-bar with everything that takes or stores energy, on the loop joint too."""
    description = ccd.load('four_bar').description
    joints = tuple(
        replace(each, dynamics=Dynamics(damping=0.01, friction=0.005, armature=1e-3))
        if each.type.nv == 1
        else each
        for each in description.joints
    )
    loop = replace(description.loops[0], dynamics=Dynamics(damping=0.01, friction=0.01))
    springs = (
        Spring('coil', 'torsional', 0.5, 0.01, 0.2, joint='crank'),
        Spring('twist', 'torsional', 0.02, 0.001, 0.1, joint=loop.name),
        Spring(
            'line', 'linear', 20.0, 0.5, 0.1,
            from_link=description.links[0].name, to_link=description.links[-1].name,
            from_xyz=(0.1, 0.0, 0.3), to_xyz=(0.0, 0.0, 0.1),
        ),
    )  # fmt: skip
    soft = LimitMoment('linear', 30.0, 0.5, 0.4)
    joints = tuple(
        replace(each, limit=replace(each.limit, lower=-2.0, upper=2.0), limit_moment=soft)
        if each.name == 'rocker'
        else each
        for each in joints
    )
    return ccd.Mechanism(replace(description, joints=joints, loops=(loop,), springs=springs))


@pytest.mark.parametrize('integrator', ['rk4', 'euler'])
@pytest.mark.parametrize('model', ['four_bar', 'slider_crank', 'five_bar', 'sprung', 'pendulum'])
def test_every_step_is_that_of_the_generic_kernels(model, integrator):
    robot = sprung() if model == 'sprung' else ccd.load(model)
    fast, core, tau = pair_of(robot, integrator=integrator)
    for _ in range(STEPS):
        fast.step(tau)
        core.step(tau)
        assert_same(fast, core, SAME * STEPS)
        core.q, core.v = fast.q, fast.v  # every step by itself
    assert fast.generated.steps >= STEPS - len(fast.events)
    assert [event.kind for event in fast.events] == [event.kind for event in core.events]


@pytest.mark.parametrize('tolerance', [1e-10, np.inf])
def test_a_run_writes_the_same_log_in_parts_or_not(tolerance):
    """The slider-crank is fast enough that RK4 takes most of its steps in parts."""
    robot = ccd.load('slider_crank')
    fast, core, tau = pair_of(robot, speed=3.0, tolerance=tolerance, log_every=3)
    fast.run(0.2, tau)
    core.run(0.1, tau)
    core.run(0.1, tau)
    assert fast.generated.steps == 200 and not fast.generated.generic
    assert np.array_equal(fast.log.time, core.log.time) and len(fast.log.time) == 67
    for name in ('q', 'v', 'kinetic', 'potential', 'work', 'dissipated'):
        mine, theirs = np.array(getattr(fast.log, name)), np.array(getattr(core.log, name))
        assert np.abs(mine - theirs).max() < 1e-9 * max(1.0, np.abs(theirs).max()), name
    assert np.max(fast.log.loop_error) < 1e-13
    assert abs(fast.energy().balance - core.energy().balance) < 1e-12


def test_a_loop_joint_that_turns_round_counts_its_turns():
    robot = sprung()
    q = ccd.assemble(robot)
    v = ccd.complete_velocity(robot, q, {'crank': 40.0})
    fast, core = (
        ccd.Simulation(robot, q=q, v=v, compiled=c, dt=2e-4, limits=False) for c in (True, False)
    )
    for sim in (fast, core):
        sim.run(0.6, {'crank': 4.0})
    assert abs(fast.q[0] - q[0]) > 2.0 * np.pi
    assert np.abs(fast.q - core.q).max() < 1e-8  # 3000 steps
    seen = [sim.robot.structure.loop_dofs['seen'] for sim in (fast, core)]
    assert np.abs(seen[0] - seen[1]).max() < 1e-8
    assert fast.generated.steps > 2900


def test_stops_and_friction_are_events_of_the_generic_code():
    fast, core, tau = pair_of(ccd.load('exo'), speed=0.3)
    fast.run(0.33, tau)
    core.run(0.33, tau)
    assert core.events and [e.kind for e in fast.events] == [e.kind for e in core.events]
    for mine, theirs in zip(fast.events, core.events):
        assert mine.name == theirs.name and abs(mine.time - theirs.time) < 1e-10
    assert_same(fast, core, 1e-10)
    assert fast.generated.generic[HELD_JOINT] > 50 and fast.generated.steps > 150


def test_after_a_cut_new_code_is_made_in_the_background_and_taken_over(empty_cache):
    fast, core, tau = pair_of(ccd.load('four_bar'))
    fast.run(0.02, tau)
    core.run(0.02, tau)
    name = fast.robot.loop_names[0]
    for sim in (fast, core):
        sim.cut(name)
    before = fast.generated.steps
    for sim in (fast, core):
        sim.run(0.002, tau)
    assert fast.generated.generic[COMPILING] == 2 and fast.generated.steps == before
    await_code(fast)
    for sim in (fast, core):
        sim.run(0.002, tau)
    assert fast.generated.steps > before
    assert_same(fast, core, 1e-9)
    fast.reset()  # back to the structure of the start, which is known
    fast.run(0.02, tau)
    assert fast.generated.steps == 20 and not fast.generated.generic


def test_a_compiler_that_fails_in_the_background_is_noted_and_nothing_stops(monkeypatch, tmp_path):
    fast, core, tau = pair_of(ccd.load('five_bar'))
    fake = tmp_path / 'cc'
    fake.write_text(
        '#!/bin/sh\ncase "$*" in *generated.c*) echo "error: out of ideas" >&2; exit 1;; esac\n'
    )
    fake.chmod(0o755)
    monkeypatch.setenv('CC', str(fake))
    for sim in (fast, core):
        sim.robot.gravity = (0.0, 0.0, -1.62)
    end = time.monotonic() + PATIENCE
    while not any('out of ideas' in why for why in fast.generated.generic):
        assert time.monotonic() < end
        fast.run(0.001, tau)
        core.run(0.001, tau)
        time.sleep(0.05)
    assert fast.generated.steps == 0
    assert np.array_equal(fast.q, core.q)


def test_what_generated_code_does_not_know_is_left_to_the_generic_kernels_and_said():
    fast, core, tau = pair_of(ccd.load('five_bar'))
    link = fast.robot.link_names[-1]
    for sim in (fast, core):
        sim.apply_wrench(link, [1.0, 0.0, 2.0, 0.0, 0.0, 0.0])
        sim.run(0.01, tau)
        sim.apply_wrench(link, None)
        sim.run(0.01, tau)
    assert fast.generated.generic == {WRENCHES: 10} and fast.generated.steps == 10
    assert WRENCHES in repr(fast.generated)
    assert_same(fast, core, 1e-11)
    standing = ccd.Simulation(ccd.load('three_link'), compiled=True)
    standing.run(0.01)
    assert standing.generated.generic == {CONTACTS: 10}


def test_a_step_that_generated_code_cannot_take_leaves_the_state_as_it_was():
    robot = ccd.load('slider_crank')
    q = ccd.assemble(robot)
    fast = ccd.Simulation(robot, q=q, compiled=True)
    runner = fast.generated._runner
    rest = np.zeros(robot.nv)
    assert runner.goes_on_from(fast.robot, q, rest, np.zeros(1))
    away = q + 0.3  # loops far open: what Newton's steps do there is anybody's guess
    books, room = np.zeros(2), np.empty((0, 0))
    asked = Asked(0.0, 0, 1e-3, 5, True, 1e-10, 0, 0, 1.0)
    moved = away.copy()
    done = runner.run(fast.robot, asked, moved, rest.copy(), np.zeros(1), books, room)
    assert done.why in REASONS and done.taken == 0
    assert np.array_equal(moved, away) and not books.any()


def test_the_adaptive_integrator_has_no_generated_steps():
    with pytest.raises(ccd.StateError, match="'adaptive' has no steps in generated code"):
        ccd.Simulation(ccd.load('four_bar'), integrator='adaptive', compiled=True)


def test_no_compiler_is_told_at_the_start(monkeypatch):
    monkeypatch.setenv('CC', 'no-such-compiler')
    with pytest.raises(ccd.GenerationError, match='no C compiler was found'):
        ccd.Simulation(ccd.load('four_bar'), compiled=True)


def test_the_command_line_takes_generated_steps_and_says_so(capsys):
    options = ['simulate', 'four_bar', '--compiled', '--time', '0.1']
    assert main([*options, '--json']) == 0
    report = json.loads(capsys.readouterr().out)
    assert report['generated'] == {'steps': 100, 'generic': {}}
    assert main(options) == 0
    assert '100 steps' in capsys.readouterr().out
