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

"""Generated code of tendons: paths through points, around shapes and with a mass, pulleys."""

import math
import subprocess
import warnings

from helpers.random_mechanisms import relative_error
from helpers.tendon_arms import ARM, TENDONS, cart, states, strung_leg
import mujoco
import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.codegen.compiler import find_compiler
from closed_chain_dynamics.errors import StateError

SAME = 1e-12  # relative: sums in another order
SLOPE = 1e-11  # of slopes, which are differences of large terms
STEP = 1e-6
DIFFERENCES = 1e-6  # what central differences can tell, relative
# MuJoCo ends its search for the point where a path touches from within at 1e-6 rad
SEARCHED = 1e-7  # [rad], where MuJoCo ends its search for the point where a path touches
LOOPS = 1e-11  # of a closed chain: rows of J_C are eliminated as well
ROUNDING = 1e-15  # [m], of the ends of a part of a path
BOOKS = 1e-7  # of some joules, what 250 steps of fourth order leave


@pytest.fixture(scope='module', params=TENDONS)
def arm(request):
    """Return a kind of tendon, the mechanism, and its generated code."""
    robot = ccd.load(ARM % TENDONS[request.param])
    return request.param, robot, robot.compile(q=next(states(1))[0])


def test_motion_and_forces_are_those_of_the_core_and_of_mujoco(arm):
    kind, robot, fast = arm
    model = mujoco.MjModel.from_xml_string(ARM % TENDONS[kind])
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    data = mujoco.MjData(model)
    within = SEARCHED if 'through' in kind or 'moves' in kind else 1e-11
    for q, v in states():
        data.qpos[:], data.qvel[:] = [*q[:3], q[6], *q[3:6]], v
        mujoco.mj_forward(model, data)
        found = fast.forward_dynamics(q, v).acceleration
        core = ccd.forward_dynamics(robot, q, v).acceleration
        assert relative_error(found, core) < SAME * 10.0  # the arm is folded in some
        assert relative_error(found, data.qacc) < within
        a = 3.0 * np.cos(np.arange(6.0))
        mine, theirs = fast.inverse_dynamics(q, v, a), ccd.inverse_dynamics(robot, q, v, a)
        assert relative_error(mine.tau_O, theirs.tau_O) < SAME
        held = ccd.inverse_dynamics(robot, q, 0.0 * v, 0.0 * v).tau_O
        assert relative_error(fast.gravity_torques(q).tau_O, held) < SAME
    many = fast.forward_dynamics(np.tile(q, (9, 1)), np.tile(v, (9, 1)))
    assert relative_error(many.acceleration[8], core) < SAME * 10.0
    assert not fast.fallbacks


def test_slopes_are_those_of_the_core(arm):
    """By central differences; both ways to find them give the same."""
    kind, robot, fast = arm
    for q, v in states(3):
        exact, found = ccd.derivatives(robot, q, v), fast.derivatives(q, v)
        for name, kept in (('wrt_q', v), ('wrt_v', q)):
            slopes = getattr(found, name)
            assert relative_error(slopes, getattr(exact, name)) < SLOPE

            def moved(x, name=name, q=q, v=v):
                pose = ccd.integrate(robot, q, x) if name == 'wrt_q' else q
                rate = v + x if name == 'wrt_v' else v
                return ccd.forward_dynamics(robot, pose, rate).acceleration

            expected = np.array(
                [(moved(STEP * e) - moved(-STEP * e)) / (2.0 * STEP) for e in np.eye(6)]
            ).T
            size = np.abs(moved(np.zeros(6))).max()  # of what is differentiated
            assert relative_error(slopes, expected, at_least=size) < DIFFERENCES * 10.0
    assert not fast.fallbacks


def test_simulations_are_those_of_the_core(arm):
    kind, robot, fast = arm
    q, v = next(states(1))
    for integrator in ('rk4', 'euler'):
        sims = [
            ccd.Simulation(robot.copy(), q=q, v=0.3 * v, integrator=integrator, compiled=compiled)
            for compiled in (False, True)
        ]
        for sim in sims:
            sim.run(0.05)
        for of in (lambda sim: sim.q, lambda sim: sim.v, lambda sim: sim.energy().balance):
            assert relative_error(of(sims[1]), of(sims[0]), at_least=1.0) < SLOPE
        assert sims[1].energy().kinetic == pytest.approx(sims[0].energy().kinetic, rel=SLOPE)


# --- where a path may go either way, or hardly touches -------------------------------------------
SIDES = ('', '0 2 0', '0 -2 0', '2 0 0', '-2 0 0', '0 0 2', '0 0 0', '0.5 0 0', '-0.3 0.1 0.1')
ON_THE_SURFACE = [(0.5, 0, 0), (-0.5, 0, 0), (0, 0.5, 0), (0.3, 0.4, 0), (-0.3, 0.4, 0.2)]
TIES = [
    (1, 0, 0),  # straight through the axis
    (1, 0, 0.3), (1, 1e-17, 0), (1, 1e-9, 0), (1, -1e-9, 0), (2, 0, 0),
    (0, 1, 0), (0, -1, 0),  # opposite to a point on one side
    (-1, 0, 0), (-1, 1e-13, 0),  # without length
    (-1, 0, 0.7), (0, 0, 1),  # along the axis
    (0, 0, 0), (0.25, 0.2, 0),  # within the shape
    (-1, 1, 0), (-1, 1 / math.sqrt(3.0), 0), (-0.5, 0.5, 0), (-0.5, 0.5 + 1e-12, 0.2),  # tangent
    *ON_THE_SURFACE,
]  # fmt: skip
ROOT = 2e-7  # of an angle whose cosine is one but for rounding


@pytest.mark.parametrize('side', SIDES)
@pytest.mark.parametrize('shape', ['sphere', 'cylinder'])
def test_every_tie_is_broken_as_in_the_core(shape, side):
    robot = cart(shape, side)
    fast, v = robot.compile(np.array([1.0, 0.3, 0.2])), np.array([0.3, -0.2, 0.5])
    for place in TIES:
        q = np.array(place, dtype=float)
        core = ccd.forward_dynamics(robot, q, v).acceleration
        found = fast.forward_dynamics(q, v)
        within = ROOT if place in ON_THE_SURFACE else SAME
        assert not found.generic, place
        assert relative_error(found.acceleration, core, at_least=1.0) < within, place
        for slopes in (fast.derivatives(q, v), ccd.derivatives(robot, q, v)):
            assert np.isfinite(slopes.wrt_q).all() and np.isfinite(slopes.wrt_v).all(), place


@pytest.mark.parametrize('shape', ['sphere', 'cylinder'])
def test_an_end_on_the_surface_is_pulled_along_it(shape):
    """A path from there has no straight part on this side, and still pulls: its limit."""
    robot, rest = cart(shape, ''), np.zeros(3)
    for turn in (0.0, 0.4, 1.0, -0.7):
        place = np.array([math.cos(turn), math.sin(turn), 0.0])
        on = ccd.forward_dynamics(robot, 0.5 * place, rest).acceleration
        near = ccd.forward_dynamics(robot, (0.5 + 1e-10) * place, rest).acceleration
        assert abs(on @ place) < 1e-6 * np.abs(on).max()
        assert relative_error(on, near) < 1e-4  # the angle goes with the root of the distance
        assert np.abs(on).max() > 100.0


@pytest.mark.parametrize('shape', ['sphere', 'cylinder'])
def test_an_end_almost_on_a_shape_that_is_touched_from_within_is_right_or_falls_back(shape):
    """A part of a path that is short has a direction to rounding; the guard says where it ends."""
    robot, rest = cart(shape, '0 0.1 0'), np.zeros(3)
    fast, random = robot.compile(np.array([1.0, 0.3, 0.2])), np.random.default_rng(0)
    fallen = {False: 0, True: 0}
    for gap in np.geomspace(1e-14, 1.0, 300):
        turn = math.pi + random.uniform(-1.5, 1.5) * 10.0 ** random.uniform(-6.0, 0.0)
        place = (0.5 + gap) * np.array([math.cos(turn), math.sin(turn), 0.0])
        with warnings.catch_warnings():
            warnings.simplefilter('ignore', ccd.codegen.GeneratedCodeWarning)
            found = fast.forward_dynamics(place, rest)
        core = ccd.forward_dynamics(robot, place, rest).acceleration
        within = SAME + ROUNDING / gap
        assert relative_error(found.acceleration, core, at_least=1.0) < within, gap
        fallen[bool(gap > 1e-8)] += found.generic
    assert fallen[False] > 50 and fallen[True] == 0
    almost = (0.5 + 1e-12) * np.array([math.cos(3.1), math.sin(3.1), 0.0])
    with pytest.raises(StateError, match='with one end almost on it'):
        ccd.derivatives(robot, almost, rest)


def leg_states(robot, count=6):
    random = np.random.default_rng(3)
    for _ in range(count):
        angles = dict(zip(robot.actuator_names, np.abs(0.1 * random.normal(size=4))))
        q = ccd.assemble(robot, angles)
        v = ccd.complete_velocity(robot, q, random.normal(size=robot.nv))
        yield q, v, ccd.complete_acceleration(robot, q, v, random.normal(size=robot.nv))


def test_tendons_across_loops_are_those_of_the_core():
    robot = strung_leg()
    fast = robot.compile(ccd.assemble(robot))
    tau = np.array([3.0, -2.0, 0.5, 1.0])
    for q, v, a in leg_states(robot):
        found, core = fast.forward_dynamics(q, v, tau), ccd.forward_dynamics(robot, q, v, tau)
        assert not found.generic
        assert relative_error(found.acceleration, core.acceleration) < LOOPS
        mine, theirs = fast.inverse_dynamics(q, v, a), ccd.inverse_dynamics(robot, q, v, a)
        assert relative_error(mine.tau_A, theirs.tau_A) < LOOPS
        moved = fast.forward_dynamics(q, v, mine.tau_A).acceleration
        assert relative_error(moved, a) < 1e3 * LOOPS  # there and back
        exact, slopes = ccd.derivatives(robot, q, v, tau), fast.derivatives(q, v, tau)
        for name in ('wrt_q', 'wrt_v', 'wrt_tau'):
            assert relative_error(getattr(slopes, name), getattr(exact, name)) < SLOPE
    sims = [ccd.Simulation(robot.copy(), q=q, v=v, compiled=c) for c in (False, True)]
    for sim in sims:
        sim.run(0.1, tau)
    assert relative_error(sims[1].q, sims[0].q) < SLOPE


def test_the_mass_of_a_tendon_across_loops_is_moved_by_the_work_of_the_motors():
    """Kinetic and stored energy grow by what motors do and dampers take, in generated code."""
    robot = strung_leg()
    q, v, _ = next(leg_states(robot))
    sim = ccd.Simulation(robot, q=q, v=v, dt=2e-4, integrator='rk4', compiled=True, limits=False)
    before = sim.energy().balance
    sim.run(0.05, np.array([3.0, -2.0, 0.5, 1.0]))
    assert sim.generated.steps > 200
    assert sim.energy().balance == pytest.approx(before, abs=BOOKS)


def test_functions_for_casadi_step_as_the_simulation():
    robot = strung_leg()
    q, v, _ = next(leg_states(robot))
    step = ccd.codegen.casadi(robot, q)['step_rk4']
    found = step(q=q, v=v, tau=np.zeros(4), dt=1e-3)
    options = {'integrator': 'rk4', 'limits': False, 'tolerance': np.inf}  # one step
    sim = ccd.Simulation(robot, q=q, v=v, dt=1e-3, **options)
    sim.robot.structure.dofs['slip'] = 0  # friction as a function of speed
    sim.step(np.zeros(4))
    assert relative_error(found['q_next'].full().ravel(), sim.q) < SLOPE
    assert relative_error(found['v_next'].full().ravel(), sim.v) < SLOPE


EXPORTED = """
#include <stdio.h>
#include "model.h"
int main(void) {
  model_real q[MODEL_Q_COUNT], v[MODEL_V_COUNT], tau[MODEL_TAU_COUNT + 1] = {0}, a[MODEL_V_COUNT];
  double x; int i;
  for (i = 0; i < MODEL_Q_COUNT; ++i) q[i] = scanf("%lf", &x) == 1 ? (model_real)x : 0;
  for (i = 0; i < MODEL_V_COUNT; ++i) v[i] = scanf("%lf", &x) == 1 ? (model_real)x : 0;
  if (model_forward_dynamics(q, v, tau, a) != MODEL_OK) return 1;
  for (i = 0; i < MODEL_V_COUNT; ++i) printf("%.17g ", (double)a[i]);
  return 0;
}
"""


@pytest.mark.parametrize('single, within', [(False, LOOPS), (True, 1e-3)])
@pytest.mark.parametrize('made', [strung_leg, lambda: ccd.load(ARM % TENDONS['through rod'])])
def test_exported_code_is_the_core(made, single, within, tmp_path):
    robot = made()
    q, v = next(leg_states(robot))[:2] if robot.loop_names else next(states(1))
    ccd.codegen.export(robot, tmp_path, single=single, q=q)
    (tmp_path / 'main.c').write_text(EXPORTED)
    flags = ['-std=c99', '-O1', '-fsanitize=address,undefined', '-fno-sanitize-recover=all']
    files = [str(tmp_path / name) for name in ('model.c', 'main.c')]
    program = str(tmp_path / 'program')
    command = [find_compiler().path, *flags, '-o', program, *files, '-lm']
    subprocess.run(command, check=True)
    given = ' '.join(repr(float(x)) for x in [*q, *v])
    done = subprocess.run([program], input=given, capture_output=True, text=True, check=True)
    found = np.array(done.stdout.split(), dtype=float)
    assert relative_error(found, ccd.forward_dynamics(robot, q, v).acceleration) < within
