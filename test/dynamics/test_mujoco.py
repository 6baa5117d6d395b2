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

"""
The same mechanisms in MuJoCo.

Quantities of the tree agree to rounding. Loops cannot: MuJoCo closes them softly. An equality
constraint has an impedance d < 1 and yields by the compliance R = (1 - d) / d times an estimate of
its own inverse inertia; d cannot be above 0.9999. How soft that is, measured here: at d = 0.9999
linkages keep 2e-5 to 6e-5 of the relative acceleration that the cut ends would have without the
loop, random mechanisms up to 3e-3; the joint accelerations differ by 3e-6 to 5e-5 of the largest
in linkages, and by up to 3e-3 in random mechanisms with a condition below 20. That is all of the
difference: the same equations with MuJoCo's compliance in every row give its answer to 1e-13, and
its answers for smaller and smaller compliance lead to the rigid one, to 1e-12 for linkages.
"""

from dataclasses import replace

from helpers.bar_linkages import five_bar, four_bar, slider_crank
from helpers.mujoco_peer import IMPEDANCES, Peer
from helpers.planar_linkages import GRAVITY, moving_state
from helpers.planetary_gear import PLANETARY, planetary_speeds, planetary_state
from helpers.random_mechanisms import (
    DEFAULT_SHARES,
    moving_joints,
    random_description,
    random_loops,
    random_state,
    relative_error,
)
from helpers.stewart_platform import stewart, with_platform
import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import Actuator, Dynamics, JointType, LoopType

TREE = 1e-9  # rounding of both engines through chains of some twenty joints
SOFT = 5e-3  # of the largest acceleration: what the stiffest constraint may differ by
YIELD = 5e-3  # what it may leave of the relative acceleration of the cut ends
RIGID = 1e-11  # after extrapolation: the fourth power of the softness is left
RIGID_RANDOM = 1e-6  # the same where the softness is fifty times larger
WELL = 20.0  # condition of random mechanisms up to which that holds
MODELLED = 1e-10  # relative: rounding of both solvers, with compliances of 1e-5 next to M
# MuJoCo has no planar joint, and a free one only next to the world
SHARES = {
    kind: share
    for kind, share in DEFAULT_SHARES.items()
    if kind not in (JointType.PLANAR, JointType.FLOATING)
}


# --- the tree ------------------------------------------------------------------------------------
@pytest.mark.parametrize('seed', range(20))
def test_mass_matrix_and_bias_of_random_trees_are_those_of_mujoco(seed):
    rng = np.random.default_rng(seed)
    description = random_description(
        rng, int(rng.integers(2, 18)), shares=SHARES, massless=0.0, floating_root=bool(seed % 2)
    )
    robot = ccd.Mechanism(description)
    q, v, a = random_state(rng, description)
    peer = Peer(robot)
    peer.set(q, v)
    M, bias = peer.tree()
    assert relative_error(ccd.mass_matrix(robot, q), M) < TREE
    still = np.zeros(robot.nv)
    plain = ccd.Mechanism(_without_damping(description))
    assert (
        relative_error(ccd.newton_euler(plain, q, v, still), bias, at_least=np.abs(M).max()) < TREE
    )
    # all of it, damping too: forward dynamics of the open tree
    force = rng.normal(size=robot.nv)
    assert (
        relative_error(
            ccd.forward_dynamics(robot, q, v, extra=force).acceleration, peer.accelerations(force)
        )
        < TREE
    )


def _without_damping(description):
    return replace(
        description,
        joints=tuple(replace(joint, dynamics=Dynamics()) for joint in description.joints),
    )


# --- loops ---------------------------------------------------------------------------------------
def soft(robot, q, v, force, compliance):
    """
    Return the accelerations of a mechanism whose loops yield by `compliance` in every row.

    M a + h = force - J^T R^-1 (J a + J' v), with the rows that MuJoCo has: three a point, then
    half the turn of a frame. One number for the three rows of each makes their axes immaterial.
    """
    J_C, _, bias = ccd.constraint_jacobian(robot, q, v)
    scale = []
    for loop in robot.description.loops:
        scale += [1.0] * 3 + [0.5 if loop.type is LoopType.FIXED else 0.0] * (loop.type.rows - 3)
    scale = np.array(scale + [1.0] * len(robot.coupling_names))
    J_C, bias = (scale[:, None] * J_C)[scale > 0.0], (scale * bias)[scale > 0.0]
    M, h = ccd.mass_matrix(robot, q), ccd.newton_euler(robot, q, v, np.zeros(robot.nv))
    answer = np.linalg.solve(
        np.block([[M, J_C.T], [J_C, -np.diag(compliance)]]), np.concatenate([force - h, -bias])
    )
    return answer[: robot.nv]


def compare(robot, q, v, tau, *, rigid=RIGID):
    """
    Check the accelerations of a closed mechanism against MuJoCo's, as stiff as it can be.

    MuJoCo's answer is that of the same equations with the compliance that it reports; and where
    the constraints are far from a singularity, the answers for less and less compliance lead to
    ours.
    """
    force = at_tree(robot, tau)
    expected = ccd.forward_dynamics(robot, q, v, tau).acceleration
    answers = []
    for impedance in IMPEDANCES:
        peer = Peer(robot, impedance)
        peer.set(q, v)
        answers.append(peer.accelerations(force))
        assert relative_error(soft(robot, q, v, force, peer.data.efc_R), answers[-1]) < MODELLED
    if ccd.coordinates(robot, q).condition > WELL:
        return
    _, softer, _, stiffer = (relative_error(answer, expected) for answer in answers)
    assert stiffer < SOFT
    # ten times more compliance, ten times more difference: it is the softness that we see
    assert 9.0 < softer / stiffer < 11.0
    J_C, _, bias = ccd.constraint_jacobian(robot, q, v)
    if robot.loop_names:
        free = robot.copy()
        for name in robot.loop_names:
            free.cut(name)
        apart = J_C @ ccd.forward_dynamics(free, q, v, tau).acceleration + bias
        left = J_C @ answers[-1] + bias
        assert np.linalg.norm(left) < YIELD * np.linalg.norm(apart)
    compliances = np.array([(1.0 - d) / d for d in IMPEDANCES])
    limit = np.linalg.solve(np.vander(compliances), answers)[-1]  # a cubic through the four
    assert relative_error(limit, expected) < rigid


def at_tree(robot, tau):
    """Return torques of actuators on the tree as forces on its coordinates."""
    force = np.zeros(robot.nv)
    for name, value in zip(robot.actuator_names, tau):
        force[robot.coordinate_names.index(name)] = value
    return force


@pytest.mark.parametrize('moving', [False, True], ids=['at rest', 'moving'])
@pytest.mark.parametrize(
    'make, pose, tau',
    [
        (four_bar, (2.2,), [3.0]),
        (four_bar, (5.1,), [-2.0]),
        (five_bar, (2.4, 0.6), [2.0, -5.0]),
        (slider_crank, (2.0,), [0.4]),
    ],
    ids=['four_bar', 'four_bar_low', 'five_bar', 'slider_crank'],
)
def test_linkages_accelerate_as_in_mujoco(make, pose, tau, moving):
    description, positions = make()
    robot = ccd.Mechanism(description, gravity=GRAVITY)
    rates = [3.0 * moving, -2.0 * moving][: len(pose)]
    q, v, _ = moving_state(robot, positions, pose, rates, [0.0, 0.0][: len(pose)])
    compare(robot, q, v, np.array(tau))


@pytest.mark.parametrize('moving', [False, True], ids=['at rest', 'moving'])
def test_a_stewart_platform_accelerates_as_in_mujoco(moving):
    robot = ccd.Mechanism(stewart('spherical', leg_mass=3.0), gravity=GRAVITY)
    q, tau = robot.neutral(), 20.0 * np.arange(6.0) - 30.0
    v = with_platform(robot, q, moving * np.array([0.3, -0.5, 0.2, 0.7, 0.4, -0.6]))
    compare(robot, q, v, tau)


def test_a_planetary_gear_accelerates_as_in_mujoco():
    """Gears on a carrier are tendons of fixed length there."""
    robot = ccd.load(PLANETARY)
    v = planetary_state(robot, planetary_speeds(4.0, -7.0))
    tau = np.array([0.9, -2.0])
    compare(robot, np.zeros(4), v, tau)


@pytest.mark.parametrize('kind', [LoopType.SPHERICAL, LoopType.FIXED], ids=['connect', 'weld'])
@pytest.mark.parametrize('seed', range(8))
def test_random_mechanisms_with_points_and_frames_joined_accelerate_as_in_mujoco(seed, kind):
    rng = np.random.default_rng(seed)
    tree = random_description(
        rng, 18, shares=SHARES, massless=0.0, branching=0.4, floating_root=bool(seed % 2)
    )
    q, _, _ = random_state(rng, tree)
    closed = random_loops(rng, tree, q, 2 if kind is LoopType.SPHERICAL else 1, (kind,))
    motors = [joint.name for joint in moving_joints(tree)][::2]
    robot = ccd.Mechanism(replace(closed, actuators=tuple(map(Actuator, motors))))
    c = ccd.coordinates(robot, q)
    assert c.mobility > 0
    v = c.W @ rng.normal(size=c.mobility)
    tau = rng.normal(size=len(robot.actuator_names))
    compare(robot, q, v, tau, rigid=RIGID_RANDOM)
