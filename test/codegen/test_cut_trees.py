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

"""Generated code of trees with a joint that has been cut: what is beyond it flies freely."""

from dataclasses import replace
import json

from helpers.code_in_the_background import await_code
from helpers.furnished_mechanisms import furnished
from helpers.random_mechanisms import (
    pinocchio_model,
    random_description,
    random_state,
    relative_error,
)
import numpy as np
import pinocchio as pin
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.cli.main import main
from closed_chain_dynamics.codegen.gathering import gather
from closed_chain_dynamics.description.elements import Joint, JointType, LoopType
from closed_chain_dynamics.model import changes

SAME = 1e-12  # relative; sums in another order
# of each: a seed, a loop type, and joints that are cut. The first carries a spring, a coupling, a
# motor, a rotor and a limit moment; others hang on it, and loops reach from the one part to the
# other
TORN = [(1, LoopType.REVOLUTE, 1), (14, LoopType.SPHERICAL, 2), (21, LoopType.CYLINDRICAL, 1)]


def torn(seed, kind, count):
    """Return a mechanism with something of everything, torn apart, and a motion of it."""
    rng = np.random.default_rng(seed)
    q, description = furnished(
        rng, kind, lambda each: random_state(rng, each)[0], rotor=0.05, carried=0.3
    )
    whole = [replace(each, dynamics=replace(each.dynamics, friction=0.0)) for each in (
        *description.joints, *description.loops)]  # fmt: skip
    n = len(description.joints)
    robot = ccd.Mechanism(replace(description, joints=tuple(whole[:n]), loops=tuple(whole[n:])))
    v = np.zeros(robot.nv)
    coupled = description.couplings[0].terms[0].joint
    others = [each for each in robot.joint_names if each != coupled and ':' not in each]
    for name in [coupled, *rng.permutation(others)][:count]:
        q, v = changes.cut(robot, str(name), q, v)
    v = 0.5 * ccd.complete_velocity(robot, q, rng.normal(size=robot.nv))
    a = ccd.complete_acceleration(robot, q, v, rng.normal(size=robot.nv))
    return robot, q, v, a, rng.normal(size=len(robot.actuator_names))


@pytest.mark.parametrize('seed, kind, count', TORN)
def test_every_call_gives_what_the_core_gives(seed, kind, count):
    robot, q, v, a, tau = torn(seed, kind, count)
    assert len(changes.cut_joints(robot)) == count
    fast = robot.compile(q)
    found, expected = fast.inverse_dynamics(q, v, a), ccd.inverse_dynamics(robot, q, v, a)
    size = np.abs(expected.tau_O).max()
    for name in ('tau_O', 'tau_G', 'tau_A', 'residual'):
        assert relative_error(getattr(found, name), getattr(expected, name), at_least=size) < SAME
    basis, expected = fast.coordinates(q), ccd.coordinates(robot, q)
    for name in ('W', 'S', 'J_C'):
        assert relative_error(getattr(basis, name), getattr(expected, name), at_least=1.0) < SAME
    acceleration = ccd.forward_dynamics(robot, q, v, tau).acceleration
    assert relative_error(fast.forward_dynamics(q, v, tau).acceleration, acceleration) < SAME
    many = fast.forward_dynamics(*(np.tile(x, (5, 1)) for x in (q, v, tau)))
    assert many.ok.all() and not many.generic.any()
    assert relative_error(many.acceleration[4], acceleration) < SAME
    G = [robot.coordinate_names.index(name) for name in fast.independent]
    assert relative_error(fast.complete_velocity(q, v[G]).values, v) < SAME
    assert relative_error(fast.complete_acceleration(q, v, a[G]).values, a) < SAME
    for link, X in ccd.link_placements(robot, q).items():
        assert relative_error(fast.link_placements(q)[link], X) < SAME
    for integrator in ('rk4', 'euler'):
        sim = ccd.Simulation(
            robot.copy(), q=q, v=v, dt=1e-4, integrator=integrator, tolerance=np.inf
        )
        sim.step(tau)
        q_next, v_next = fast.step(q, v, tau, dt=1e-4, integrator=integrator)
        assert relative_error(q_next, sim.q) < SAME and relative_error(v_next, sim.v) < SAME
    assert not fast.fallbacks


@pytest.mark.parametrize('seed, kind, count', TORN)
def test_derivatives_are_slopes_of_the_core(seed, kind, count):
    robot, q, v, _, tau = torn(seed, kind, count)
    exact, fast = ccd.derivatives(robot, q, v, tau), robot.compile(q).derivatives(q, v, tau)
    for name in ('wrt_q', 'wrt_v', 'wrt_tau', 'A', 'B'):
        assert relative_error(getattr(fast, name), getattr(exact, name), at_least=1.0) < SAME * 10
    rng, h = np.random.default_rng(5), 1e-6
    x = rng.normal(size=len(exact.B) // 2)
    W = ccd.coordinates(robot, q).W
    W = W @ np.linalg.inv(W[[robot.coordinate_names.index(n) for n in exact.independent]])
    # closed again by the core after a small motion
    ends = []
    for sign in (1.0, -1.0):
        moved = ccd.integrate(robot, q, sign * h * W @ x)
        ends.append(ccd.forward_dynamics(robot, moved, v * 0.0, tau).acceleration)
    still = ccd.derivatives(robot, q, v * 0.0, tau)
    slope = (ends[0] - ends[1]) / (2.0 * h)
    assert relative_error(still.wrt_q @ W @ x, slope, at_least=1.0) < 1e-5


def test_two_separated_trees_are_those_of_pinocchio():
    rng = np.random.default_rng(8)
    description = random_description(
        rng,
        8,
        shares={JointType.REVOLUTE: 0.6, JointType.PRISMATIC: 0.2, JointType.SPHERICAL: 0.2},
        floating_root=False,
        massless=0.0,
        damping=0.0,
    )
    robot = ccd.Mechanism(description)
    q, v, _ = random_state(rng, description)
    name = next(each.parent for each in description.joints if each.parent != description.root)
    name = next(each.name for each in description.joints if each.child == name)
    q, v = changes.cut(robot, name, q, v)
    flying = next(each for each in description.joints if each.name == name)
    apart = replace(
        description,
        joints=tuple(
            Joint(name, JointType.FLOATING, description.root, flying.child)
            if each is flying
            else each
            for each in description.joints
        ),
    )
    model = pinocchio_model(apart)
    data = model.createData()
    q_pin, v_pin, places = pin.neutral(model), np.zeros(model.nv), np.zeros(model.nv, dtype=int)
    for number, each in enumerate(model.names[1:], start=1):
        joint, (in_q, in_v) = model.joints[number], robot.joint_slices(each)
        q_pin[joint.idx_q : joint.idx_q + joint.nq] = q[in_q]
        v_pin[joint.idx_v : joint.idx_v + joint.nv] = v[in_v]
        places[in_v] = np.arange(joint.idx_v, joint.idx_v + joint.nv)
    fast = robot.compile(q)
    expected = pin.aba(model, data, q_pin, v_pin, np.zeros(model.nv))[places]
    found = fast.forward_dynamics(q, v)
    assert not found.generic and relative_error(found.acceleration, expected) < 1e-11
    a = rng.normal(size=robot.nv)
    a_pin = np.zeros(model.nv)
    a_pin[places] = a
    needed = pin.rnea(model, data, q_pin, v_pin, a_pin)[places]
    assert relative_error(fast.inverse_dynamics(q, v, a).tau_O, needed) < SAME
    pin.computeABADerivatives(model, data, q_pin, v_pin, np.zeros(model.nv))
    slopes = fast.derivatives(q, v)
    for mine, theirs in ((slopes.wrt_q, data.ddq_dq), (slopes.wrt_v, data.ddq_dv)):
        assert relative_error(mine, theirs[np.ix_(places, places)]) < 1e-10


def test_code_made_for_the_whole_is_not_used_for_the_parts_and_is_again_afterwards():
    robot = ccd.load('four_bar')
    fast, q = robot.compile(), ccd.assemble(robot)
    before = robot.connections()
    expected = fast.forward_dynamics(q, np.zeros(3), [0.3]).acceleration
    torn_q, torn_v = changes.cut(robot, 'coupler', q, np.zeros(3))
    parts = robot.compile(torn_q)
    with pytest.warns(ccd.codegen.GeneratedCodeWarning, match='structure has changed'):
        found = fast.forward_dynamics(torn_q, torn_v, [0.3])
    core = ccd.forward_dynamics(robot, torn_q, torn_v, [0.3]).acceleration
    assert found.generic and np.array_equal(found.acceleration, core)
    assert relative_error(parts.forward_dynamics(torn_q, torn_v, [0.3]).acceleration, core) < SAME
    robot.restructure(before)
    again = fast.forward_dynamics(q, np.zeros(3), [0.3])
    assert not again.generic and np.array_equal(again.acceleration, expected)
    assert not parts.is_current


def test_a_simulation_goes_on_in_generated_code_after_a_cut_of_its_tree(empty_cache):
    robot = ccd.load('four_bar')
    q = ccd.assemble(robot)
    v = ccd.complete_velocity(robot, q, {'crank': 0.5})
    fast, core = (ccd.Simulation(robot, q=q, v=v, compiled=c) for c in (True, False))
    for sim in (fast, core):
        sim.run(0.01, {'crank': 0.1})
        sim.cut('coupler')
    before = fast.generated.steps
    for sim in (fast, core):
        sim.run(0.001, {'crank': 0.1})
    assert fast.generated.steps == before
    await_code(fast)
    for sim in (fast, core):
        sim.run(0.02, {'crank': 0.1})
    assert fast.generated.steps == before + 20
    assert np.abs(fast.q - core.q).max() < 1e-10 and np.abs(fast.v - core.v).max() < 1e-9
    assert abs(fast.energy().balance - core.energy().balance) < 1e-10


def test_firmware_may_be_of_a_mechanism_whose_tree_is_cut(tmp_path, capsys):
    assert main(['export', 'four_bar', str(tmp_path / 'told'), '--cut', 'coupler', '--json']) == 0
    assert json.loads(capsys.readouterr().out)['open'] == ['coupler']
    robot = ccd.load('four_bar')
    q, _ = changes.cut(robot, 'coupler', ccd.assemble(robot), np.zeros(3))
    ccd.codegen.export(robot, tmp_path / 'expected', q=q)
    told, expected = ((tmp_path / name / 'model.c').read_text() for name in ('told', 'expected'))
    assert told == expected and 'MODEL_V_COUPLER_WZ' in (tmp_path / 'told/model.h').read_text()


def test_parameters_of_a_cut_joint_are_refused_and_no_link_reaches_beyond_it():
    rng = np.random.default_rng(3)
    chain = random_description(
        rng, 2, shares={JointType.REVOLUTE: 1.0}, floating_root=False, branching=0.0, massless=0.0
    )
    end = _last(chain)
    robot, v = ccd.Mechanism(chain), np.array([0.5, 0.6])
    q, v = changes.cut(robot, end.name, np.array([0.3, 0.4]), v)
    with pytest.raises(ccd.StateError, match='has been cut'):
        ccd.codegen.step_derivatives(robot, q, v, parameters=[f'damping:{end.name}'])
    found = ccd.codegen.step_derivatives(robot, q, v, parameters=[f'length:{end.parent}'])
    first = next(j for j, name in enumerate(robot.coordinate_names) if ':' not in name)
    place = robot.joint_slices(robot.coordinate_names[first])[0].start

    def after(h):
        """Return where the first joint is after a step, when its link is longer and alone."""
        links = [each for each in chain.links if each.name != end.child]
        k = next(k for k, each in enumerate(links) if each.name == end.parent)
        own = links[k].inertia
        origin = replace(own.origin, xyz=tuple((1.0 + h) * x for x in own.origin.xyz))
        moments = tuple((1.0 + h) ** 2 * x for x in own.moments)
        links[k] = replace(links[k], inertia=replace(own, origin=origin, moments=moments))
        joints = tuple(each for each in chain.joints if each is not end)
        alone = ccd.Mechanism(replace(chain, links=tuple(links), joints=joints))
        sim = ccd.Simulation(alone, q=[q[place]], v=[v[first]], dt=1e-3, tolerance=np.inf)
        sim.step()
        return np.array([sim.q[0], sim.v[0]])

    h, length = 1e-4, np.linalg.norm(end.origin.xyz)
    slope = (after(h) - after(-h)) / (2.0 * h * length)
    mine = found.wrt_parameters[[first, robot.nv + first], 0]
    assert relative_error(mine, slope) < 1e-6
    others = np.delete(found.wrt_parameters, [first, robot.nv + first], axis=0)
    assert not others.any()


def _last(chain):
    """Return the joint at the end of a chain."""
    parents = {each.parent for each in chain.joints}
    return next(each for each in chain.joints if each.child not in parents)


def test_what_sits_on_a_cut_joint_is_left_out_of_the_code():
    robot, q, _, _, _ = torn(*TORN[0])
    source = gather(robot, q)
    name = changes.cut_joints(robot)[0]
    body = next(each for each in source.bodies if each.name == name)
    assert body.kind is JointType.FLOATING and body.parent == 0
    assert not source.couplings
    assert 'coil' not in [spring.name for spring in source.springs]
