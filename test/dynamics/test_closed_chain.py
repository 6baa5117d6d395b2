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

"""Dynamics of random closed mechanisms against solutions that share nothing with the package."""

from dataclasses import replace

from helpers.geared_legs import geared_legs
from helpers.random_mechanisms import (
    moving_joints,
    pinocchio_model,
    random_description,
    random_loops,
    random_state,
    relative_error,
)
from hypothesis import HealthCheck, assume, given, settings, strategies as st
import numpy as np
import pinocchio as pin
import scipy.linalg

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import Actuator, Joint, JointType, Link, LoopType
from closed_chain_dynamics.dynamics.constraints import actuator_rows

TOLERANCE = 1e-9  # relative, wherever the condition is below CONDITION
REFINEMENTS = 3  # each gives as many digits as a plain solution has
CLEAR = 1e-9  # of a singular value that does not count: else a pose is nearly singular, or rounded
CONDITION = 1e6  # constraints worse than this are close to a singularity
NULL_SPACE = 1e-12  # J_C W against the sizes of both
POWER = 1e-10  # relative
seeds = st.integers(0, 2**32 - 1)
# about one mechanism in eight cannot move, or is close to a singularity: it is drawn again
draw_again = {'suppress_health_check': [HealthCheck.filter_too_much]}


def random_closed(seed, kinds=tuple(LoopType), joints=(3, 22), loops=(1, 7), motors=0.5):
    """Return a random closed mechanism, a closed pose and a random generator."""
    rng = np.random.default_rng(seed)
    tree = random_description(rng, int(rng.integers(*joints)), max_dof=40)
    assume(moving_joints(tree))  # a tree of fixed joints has no two links to connect
    q, _, _ = random_state(rng, tree)
    closed = random_loops(rng, tree, q, int(rng.integers(*loops)), kinds)
    names = [joint.name for joint in moving_joints(tree)]
    names += [loop.name for loop in closed.loops if loop.type.rows not in (0, 6)][:1]
    actuators = tuple(Actuator(name) for name in names if rng.random() < motors)
    return ccd.Mechanism(replace(closed, actuators=actuators)), q, rng


def moving(robot, q, rng, condition=CONDITION):
    """Return coordinates, a velocity and torques; draw again where nothing can move."""
    c = ccd.coordinates(robot, q)
    assume(c.mobility > 0 and c.condition < condition)
    assume(c.rank_gap[1] < CLEAR)
    return c, c.W @ rng.normal(size=c.mobility), rng.normal(size=len(robot.actuator_names))


def independent_rows(J_C, rank):
    """Return rows of J_C that span all of them, by pivoted QR."""
    return np.sort(scipy.linalg.qr(J_C.T, mode='r', pivoting=True)[1][:rank])


def passive(robot, v):
    """Return the damping forces of the tree, the only passive forces of these mechanisms."""
    damping = {joint.name: joint.dynamics.damping for joint in robot.description.joints}
    return np.array([-damping[name.split(':')[0]] for name in robot.coordinate_names]) * v


def solve_kkt(M, J_C, force, bias, rank):
    """
    Return accelerations from the multiplier form [M J^T; J 0], rows made independent first.

    Refined by residuals of extended precision: a plain solution was seen 4e-9 off the exact one,
    where the accelerations here were 3e-15 off (seed 8080, 50 digits).
    """
    rows = independent_rows(J_C, rank)
    J = J_C[rows]
    system = np.block([[M, J.T], [J, np.zeros((rank, rank))]])
    right = np.concatenate([force, -bias[rows]])
    solution = np.linalg.solve(system, right).astype(np.longdouble)
    for _ in range(REFINEMENTS):
        rest = right - system.astype(np.longdouble) @ solution
        solution += np.linalg.solve(system, rest.astype(float))
    return solution[: len(M)].astype(float)


def tree_by_pinocchio(robot, q, v):
    """Return M and h of the tree from Pinocchio."""
    model = pinocchio_model(robot.description, robot.gravity)
    data = model.createData()
    M = pin.crba(model, data, q)
    M = np.triu(M) + np.triu(M, 1).T
    return M, pin.nonLinearEffects(model, data, q, v)


@given(seeds)
@settings(max_examples=160, **draw_again)
def test_forward_and_inverse_dynamics_agree_with_the_multiplier_form(seed):
    robot, q, rng = random_closed(seed)
    c, v, tau = moving(robot, q, rng)
    J_C, error, bias = ccd.constraint_jacobian(robot, q, v)
    assert np.abs(J_C @ c.W).max(initial=0.0) <= NULL_SPACE * max(
        1.0, np.abs(J_C).max(initial=0.0) * np.abs(c.W).max()
    )
    M, h = tree_by_pinocchio(robot, q, v)
    force = actuator_rows(robot, q).T @ tau + passive(robot, v) - h
    expected = solve_kkt(M, J_C, force, bias, c.rank)
    forward = ccd.forward_dynamics(robot, q, v, tau)
    assert relative_error(forward.acceleration, expected) < TOLERANCE

    # inverse dynamics: tau_G is what the multiplier form leaves in the free directions
    a = forward.acceleration
    inverse = ccd.inverse_dynamics(robot, q, v, a)
    needed = M @ a + h - passive(robot, v)
    assert relative_error(inverse.tau_O, needed, at_least=np.abs(h).max()) < TOLERANCE
    free = scipy.linalg.null_space(J_C) if len(J_C) else np.eye(robot.nv)
    lever = free.T @ actuator_rows(robot, q).T
    assert (
        np.abs(lever @ inverse.tau_A - free.T @ needed).max()
        < TOLERANCE * max(np.abs(needed).max(), 1.0) * max(c.condition, 1.0) ** 0.5
    )


@given(seeds)
@settings(max_examples=80, **draw_again)
def test_every_answer_proves_itself(seed):
    """Forward of inverse is the identity; power in equals power out; loops stay closed."""
    robot, q, rng = random_closed(seed)
    c, v, _ = moving(robot, q, rng)
    a = ccd.complete_acceleration(robot, q, v, c.W @ rng.normal(size=c.mobility))
    proof = ccd.inverse_dynamics(robot, q, v, a).check()
    assert proof['loops'] < TOLERANCE * max(1.0, np.abs(a).max())
    assert proof['power'] < POWER
    assert proof['forward'] < TOLERANCE * max(1.0, np.abs(a).max())
    proof = ccd.forward_dynamics(robot, q, v, rng.normal(size=len(robot.actuator_names))).check()
    assert proof['motion'] < TOLERANCE


def unit_vector_method(robot, q, v, c):
    """Return A and b by inverse dynamics with unit accelerations (paper 2, III, 1 to 3)."""
    J_C, _, bias = ccd.constraint_jacobian(robot, q, v)
    rest = -np.linalg.pinv(J_C, rcond=1e-9) @ bias
    independent = [robot.coordinate_names.index(name) for name in c.independent]
    rest = rest - c.W @ rest[independent]  # theta_G'' = 0: only H' theta_G' is left
    b = c.W.T @ ccd.newton_euler(robot, q, v, rest)
    A = np.empty((c.mobility, c.mobility))
    for i in range(c.mobility):
        A[:, i] = c.W.T @ ccd.newton_euler(robot, q, v, rest + c.W[:, i]) - b
    return A, b


@given(seeds)
@settings(max_examples=60, **draw_again)
def test_the_unit_vector_method_of_the_papers_gives_the_same_a_and_b(seed):
    robot, q, rng = random_closed(seed)
    c, v, tau = moving(robot, q, rng)
    A, b = unit_vector_method(robot, q, v, c)
    f = ccd.forward_dynamics(robot, q, v, tau)
    assert relative_error(f.A, A) < TOLERANCE
    assert relative_error(f.b, b, at_least=np.abs(A).max()) < TOLERANCE * c.condition**0.5
    expected = np.linalg.solve(A, c.S.T @ tau - b)
    assert relative_error(f.theta_G_acceleration, expected) < TOLERANCE * np.linalg.cond(A) ** 0.5


def pinocchio_constraints(model, robot):
    """Return Pinocchio's constraints for spherical (3D) and fixed (6D) loops."""
    constraints = []
    for loop in robot.description.loops:
        kind = (
            pin.ContactType.CONTACT_3D
            if loop.type is LoopType.SPHERICAL
            else pin.ContactType.CONTACT_6D
        )
        ends = []
        for link, origin in ((loop.parent, loop.parent_origin), (loop.child, loop.child_origin)):
            frame = model.frames[model.getFrameId(link)]
            ends += [
                frame.parentJoint,
                frame.placement * pin.SE3(origin.rotation, origin.position),
            ]
        constraints.append(pin.RigidConstraintModel(kind, model, *ends, pin.ReferenceFrame.LOCAL))
    return constraints


@given(seeds)
@settings(max_examples=50, **draw_again)
def test_point_and_frame_loops_agree_with_the_constraint_dynamics_of_pinocchio(seed):
    robot, q, rng = random_closed(
        seed, (LoopType.SPHERICAL, LoopType.FIXED), joints=(8, 22), loops=(1, 3)
    )
    c, v, tau = moving(robot, q, rng, condition=1e3)
    assume(not c.redundant_rows)  # there Pinocchio regularises: nothing to compare with
    model = pinocchio_model(robot.description, robot.gravity)
    data = model.createData()
    constraints = pin.StdVec_RigidConstraintModel()
    constraints.extend(pinocchio_constraints(model, robot))
    constraint_data = pin.StdVec_RigidConstraintData()
    constraint_data.extend([constraint.createData() for constraint in constraints])
    force = actuator_rows(robot, q).T @ tau + passive(robot, v)
    pin.initConstraintDynamics(model, data, constraints, constraint_data)
    expected = pin.constraintDynamics(
        model,
        data,
        q,
        v,
        force,
        constraints,
        constraint_data,
        pin.ProximalSettings(1e-14, 1e-10, 50),
    )
    f = ccd.forward_dynamics(robot, q, v, tau)
    # Pinocchio iterates to 1e-14 with a proximal term of 1e-10
    assert relative_error(f.acceleration, expected) < 1e-8


@given(seeds)
@settings(max_examples=30, **draw_again)
def test_loops_that_share_no_joint_are_solved_as_if_alone(seed):
    """Two copies of a mechanism on one base move as each does alone."""
    robot, q, rng = random_closed(seed)
    c, v, tau = moving(robot, q, rng)

    def renamed(element, prefix, fields):
        return replace(element, **{name: prefix + getattr(element, name) for name in fields})

    d, root = robot.description, robot.description.root
    links, joints, loops, actuators = [], [], [], []
    for prefix in ('x_', 'y_'):
        links += [renamed(link, prefix, ['name']) for link in d.links]
        joints += [renamed(joint, prefix, ['name', 'parent', 'child']) for joint in d.joints]
        loops += [renamed(loop, prefix, ['name', 'parent', 'child']) for loop in d.loops]
        actuators += [renamed(actuator, prefix, ['joint']) for actuator in d.actuators]
    links.append(Link('ground'))
    joints += [Joint(f'{p}fix', JointType.FIXED, 'ground', p + root) for p in ('x_', 'y_')]
    both = ccd.Mechanism(
        replace(
            d,
            links=tuple(links),
            joints=tuple(joints),
            loops=tuple(loops),
            actuators=tuple(actuators),
        )
    )
    two = ccd.forward_dynamics(both, np.tile(q, 2), np.tile(v, 2), np.tile(tau, 2)).acceleration
    one = ccd.forward_dynamics(robot, q, v, tau).acceleration
    assert relative_error(two[: robot.nv], one) < TOLERANCE
    assert relative_error(two[robot.nv :], one) < TOLERANCE
    assert ccd.coordinates(both, np.tile(q, 2)).mobility == 2 * c.mobility


def test_joints_marked_dependent_are_not_taken_as_coordinates_where_others_do():
    robot = ccd.load(geared_legs())
    unwanted = {joint.name for joint in robot.description.joints if joint.independent is False}
    assert unwanted
    assert not unwanted & set(ccd.coordinates(robot, robot.neutral()).independent)
