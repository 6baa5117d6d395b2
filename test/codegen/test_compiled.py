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

"""Compiled mechanisms against the core: single states, batches, roll-outs, and when they fail."""

from dataclasses import replace
import resource
import warnings

from helpers.random_mechanisms import random_description
import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.codegen import GeneratedCodeWarning
from closed_chain_dynamics.codegen.cache import cache_folder
from closed_chain_dynamics.codegen.compiler import find_compiler
from closed_chain_dynamics.description.elements import Coupling, CouplingTerm, JointType
from closed_chain_dynamics.errors import GenerationError

SAME = 1e-12  # relative; sums in another order
ROLLED = 1e-10  # after 100 steps, which the motion itself makes larger


@pytest.fixture(scope='module', params=['four_bar', 'exo'])
def pair(request):
    robot = ccd.load(request.param)
    return robot, robot.compile()


def state_of(robot, seed=1):
    rng = np.random.default_rng(seed)
    q = ccd.assemble(robot)
    v = ccd.complete_velocity(robot, q, rng.normal(size=robot.nv))
    a = ccd.complete_acceleration(robot, q, v, rng.normal(size=robot.nv))
    return q, v, a, rng.normal(size=len(robot.actuator_names))


def error_of(actual, expected, scale=0.0):
    return np.abs(actual - expected).max(initial=0.0) / max(np.abs(expected).max(), scale)


def batch_of(robot, n, seed=3):
    """Return n closed states along a motion of the mechanism, and torques."""
    rng = np.random.default_rng(seed)
    q, v, _, _ = state_of(robot)
    sim = ccd.Simulation(robot.copy(), q=q, v=0.3 * v, dt=2e-3)
    states = []
    for _ in range(n):
        sim.step()
        states.append((sim.q.copy(), sim.v.copy()))
    return (*map(np.array, zip(*states)), rng.normal(size=(n, len(robot.actuator_names))))


def test_calls_of_the_core_give_the_same(pair):
    robot, fast = pair
    q, v, a, tau = state_of(robot)
    names = fast.independent
    v_G, a_G = (x[[robot.coordinate_names.index(name) for name in names]] for x in (v, a))
    f = fast.forward_dynamics(q, v, tau)
    assert f.ok and not f.generic
    assert error_of(f.acceleration, ccd.forward_dynamics(robot, q, v, tau).acceleration) < SAME
    r, core = fast.inverse_dynamics(q, v, a), ccd.inverse_dynamics(robot, q, v, a)
    for name in ('tau_O', 'tau_G', 'tau_A', 'residual'):
        assert error_of(getattr(r, name), getattr(core, name), np.abs(core.tau_O).max()) < SAME
    c, basis = ccd.coordinates(robot, q), fast.coordinates(q)
    for name in ('W', 'S', 'J_C'):
        assert error_of(getattr(basis, name), getattr(c, name), 1.0) < SAME
    assert error_of(fast.complete_velocity(q, dict(zip(names, v_G))).values, v) < SAME
    assert error_of(fast.complete_acceleration(q, v, a_G).values, a) < SAME
    assert set(fast.link_placements(q)) == set(robot.link_names)
    for link, X in ccd.link_placements(robot, q).items():
        assert error_of(fast.link_placements(q)[link], X) < SAME
    assert not fast.fallbacks


def test_torques_may_be_named_and_lists_are_taken(pair):
    robot, fast = pair
    q, v, _, tau = state_of(robot)
    expected = fast.forward_dynamics(q, v, tau).acceleration
    named = dict(zip(robot.actuator_names, tau))
    assert np.array_equal(fast.forward_dynamics(q, v, named).acceleration, expected)
    listed = fast.forward_dynamics(q.tolist(), v.tolist(), tau.tolist())
    assert np.array_equal(listed.acceleration, expected) and not listed.generic


def test_rates_of_a_batch_may_be_one_number_for_all_states(pair):
    robot, fast = pair
    q, _, _ = batch_of(robot, 5)
    names, rates = fast.independent, np.linspace(0.1, 1.0, len(fast.independent))
    one = fast.complete_velocity(q, dict(zip(names, rates))).values
    assert np.array_equal(one, fast.complete_velocity(q, np.tile(rates, (5, 1))).values)
    named = {**dict(zip(names, rates)), names[0]: np.full(5, rates[0])}
    assert np.array_equal(one, fast.complete_velocity(q, named).values)
    with pytest.raises(ccd.StateError, match='rates have shapes'):
        fast.complete_velocity(q, {**named, names[0]: np.zeros(4)})


def test_a_batch_marks_bad_rows_and_gets_the_others_right(pair):
    robot, fast = pair
    q, v, tau = batch_of(robot, 131)  # no whole number of lanes
    q[7, 0], v[50, 0], tau[99, 0] = np.nan, np.inf, np.nan
    q[60] += 0.1  # open loops
    f = fast.forward_dynamics(q, v, tau)
    assert np.flatnonzero(~f.ok).tolist() == [7, 50, 60, 99]
    assert np.all(np.isnan(f.acceleration[~f.ok])) and not f.generic.any()
    for i in np.flatnonzero(f.ok):
        expected = ccd.forward_dynamics(robot, q[i], v[i], tau[i]).acceleration
        assert error_of(f.acceleration[i], expected, 1.0) < SAME


def test_a_rollout_is_the_simulation_of_the_core(pair):
    robot, fast = pair
    q, v, tau = batch_of(robot, 6)
    for integrator in ('rk4', 'euler'):
        rolled = fast.rollout(q, v, tau, steps=100, every=50, integrator=integrator)
        assert rolled.ok.all() and rolled.q.shape == (6, 2, robot.nq)
        sim = ccd.Simulation(robot.copy(), q=q[3], v=v[3], dt=1e-3, integrator=integrator)
        for _ in range(100):
            sim.step(tau[3])
        assert error_of(rolled.q[3, -1], sim.q, 1.0) < ROLLED
        assert error_of(rolled.v[3, -1], sim.v, 1.0) < ROLLED
    one = fast.step(q[3], v[3], tau[3])
    assert error_of(one[0], fast.rollout(q, v, tau, steps=1).q[3, 0]) < SAME


def test_torques_may_change_from_step_to_step_and_a_bad_row_ends(pair):
    robot, fast = pair
    q, v, tau = batch_of(robot, 5)
    changing = np.repeat(tau[:, None], 20, axis=1)
    assert np.array_equal(
        fast.rollout(q, v, changing, steps=20).q, fast.rollout(q, v, tau, steps=20).q
    )
    changing[2, 11] = np.nan
    rolled = fast.rollout(q, v, changing, steps=20)
    assert rolled.steps.tolist() == [20, 20, 11, 20, 20]
    assert np.isnan(rolled.q[2, 11:]).all() and np.isfinite(rolled.q[2, :11]).all()
    assert np.isfinite(rolled.q[[0, 1, 3, 4]]).all()


def test_another_structure_or_gravity_is_answered_by_the_core():
    robot = ccd.load('four_bar')
    fast = robot.compile()
    q, v, _, tau = state_of(robot)
    robot.gravity = (0.0, 0.0, 0.0)
    with pytest.warns(GeneratedCodeWarning, match='structure has changed'):
        f = fast.forward_dynamics(q, v, tau)
    assert f.generic
    assert np.array_equal(f.acceleration, ccd.forward_dynamics(robot, q, v, tau).acceleration)
    robot = ccd.load('four_bar')
    fast = robot.compile()
    robot.cut(robot.loop_names[0])
    with pytest.warns(GeneratedCodeWarning):
        f = fast.forward_dynamics(q, v, tau)
    assert np.array_equal(f.acceleration, ccd.forward_dynamics(robot, q, v, tau).acceleration)
    with pytest.raises(ccd.StateError, match='structure has changed'):
        fast.rollout(q[None], v[None], steps=1)


def test_a_singular_pose_is_left_to_the_core():
    robot = ccd.load('slider_crank')
    fast = robot.compile()
    q, v, _, tau = state_of(robot)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter('always')
        for turn in np.linspace(0.0, 2.0 * np.pi, 25):
            try:
                q = ccd.assemble(robot, {robot.joint_names[0]: turn})
            except ccd.AssemblyError:
                continue
            f = fast.forward_dynamics(q, np.zeros(robot.nv), tau)
            expected = ccd.forward_dynamics(robot, q, np.zeros(robot.nv), tau).acceleration
            assert error_of(f.acceleration, expected, 1.0) < 1e-9
    assert all(issubclass(each.category, GeneratedCodeWarning) for each in told)


def test_what_the_core_refuses_is_refused_as_there(pair):
    robot, fast = pair
    q, v, _, tau = state_of(robot)
    with pytest.raises(ccd.StateError, match='is open by'):
        fast.forward_dynamics(q + 0.1, v, tau)
    with pytest.raises(ccd.StateError, match='nan'):
        fast.forward_dynamics(q, v * np.nan, tau)
    with pytest.raises(ccd.StateError, match='shape'):
        fast.forward_dynamics(q[:-1], v, tau)
    with pytest.raises(ccd.StateError, match='numbers of states differ'):
        fast.forward_dynamics(np.tile(q, (3, 1)), np.tile(v, (2, 1)), np.tile(tau, (3, 1)))


def test_a_second_compilation_comes_from_the_disk(monkeypatch, empty_cache):
    robot = ccd.load('pendulum')
    robot.compile()
    before = set(cache_folder().iterdir())

    def fail(*_):
        raise AssertionError('compiled again')

    monkeypatch.setattr('closed_chain_dynamics.codegen.build.compile_text', fail)
    ccd.load('pendulum').compile()
    assert set(cache_folder().iterdir()) == before


def test_a_damaged_library_is_made_again(empty_cache):
    robot = ccd.load('pendulum')
    robot.compile()
    q, v, _, tau = state_of(robot)
    for library in cache_folder().glob('*.so'):
        library.unlink()
        library.write_bytes(b'not a library')
    f = ccd.load('pendulum').compile().forward_dynamics(q, v, tau)
    assert error_of(f.acceleration, ccd.forward_dynamics(robot, q, v, tau).acceleration) < SAME


def test_a_library_of_another_version_is_never_taken(monkeypatch, empty_cache):
    robot = ccd.load('pendulum')
    q, v, _, tau = state_of(robot)
    robot.compile()
    before = {each.name for each in cache_folder().iterdir()}
    with monkeypatch.context() as patch:
        patch.setattr('closed_chain_dynamics.codegen.cache._own_code', lambda: b'another version')
        ccd.load('pendulum').compile()
    others = {each.name for each in cache_folder().iterdir()} - before
    assert len(others) == len(before) and not others & before
    # and a library that comes to stand under another's name is found out
    wrong = next(cache_folder().glob('inverse_dynamics-*.so')).read_bytes()
    for right in cache_folder().glob('forward_dynamics-*.so'):
        right.unlink()  # what is loaded stays as it is
        right.write_bytes(wrong)
    f = ccd.load('pendulum').compile().forward_dynamics(q, v, tau)
    assert not f.generic
    assert error_of(f.acceleration, ccd.forward_dynamics(robot, q, v, tau).acceleration) < SAME


def test_a_disk_without_room_is_told(empty_cache):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))  # bytes that a file may have
    try:
        with pytest.raises(GenerationError, match='compiled code cannot be written'):
            ccd.load('pendulum').compile()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_coordinates_that_the_core_answers_in_a_batch_are_the_same():
    robot = ccd.load('four_bar')
    fast = robot.compile()
    q = np.tile(state_of(robot)[0], (3, 1))
    expected = fast.coordinates(q)
    robot.gravity = (0.0, 0.0, -1.0)  # W, S and J_C do not depend on it
    with pytest.warns(GeneratedCodeWarning):
        found = fast.coordinates(q)
    assert found.generic.all()
    for name in ('W', 'S', 'J_C'):
        assert error_of(getattr(found, name), getattr(expected, name), 1.0) < SAME


def test_no_compiler_and_a_failing_one_are_told(monkeypatch, tmp_path):
    robot = ccd.load('five_bar')
    monkeypatch.setenv('CC', 'no-such-compiler')
    with pytest.raises(GenerationError, match='no C compiler was found'):
        robot.compile()
    fake = tmp_path / 'cc'
    fake.write_text(
        '#!/bin/sh\ncase "$*" in *generated.c*) echo "error: out of ideas" >&2; exit 1;; esac\n'
    )
    fake.chmod(0o755)
    monkeypatch.setenv('CC', str(fake))
    with pytest.raises(GenerationError, match='out of ideas'):
        robot.compile()


def test_a_cache_that_cannot_be_written_is_told(monkeypatch, tmp_path):
    (tmp_path / 'closed_chain_dynamics').write_text('a file where a folder should be')
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path))
    with pytest.raises(GenerationError, match='XDG_CACHE_HOME'):
        ccd.load('five_bar').compile()


def test_casadi_missing_is_told(monkeypatch):
    monkeypatch.setitem(__import__('sys').modules, 'casadi', None)
    with pytest.raises(GenerationError, match='pip install'):
        ccd.load('five_bar').compile()


@pytest.mark.parametrize('size', [1.0, 1e-4])
def test_couplings_count_alike_whatever_the_size_of_their_coefficients(size):
    chain = random_description(
        np.random.default_rng(4), 3, shares={JointType.REVOLUTE: 1.0}, floating_root=False
    )
    one, two = (each.name for each in chain.joints[:2])
    terms = CouplingTerm(one, (size, 0.2 * size)), CouplingTerm(two, (-0.5 * size,))
    robot = ccd.Mechanism(replace(chain, couplings=(Coupling('gear', terms),)))
    q = ccd.assemble(robot, {one: 0.4})
    fast = robot.compile(q)
    assert np.abs(fast.coordinates(q).J_C - ccd.coordinates(robot, q).J_C).max() < SAME
    open_gear = q.copy()
    open_gear[robot.joint_slices(one)[0]] += 1e-3
    with pytest.raises(ccd.StateError, match='open'):
        fast.forward_dynamics(open_gear, np.zeros(3))
    assert not fast.forward_dynamics(open_gear[None], np.zeros((1, 3)), np.zeros((1, 0))).ok


def test_sliding_contacts_are_refused_at_compilation():
    with pytest.raises(ccd.StructureError, match='contact'):
        ccd.load('three_link').compile()


def test_the_compiler_at_hand_has_lanes():
    assert find_compiler().lanes in (4, 8)
