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

"""Friction that is aimed for a step drags, too: it never gives energy, and no point pulls."""

from helpers.touching_bodies import body_on_slope, solid_box
import numpy as np
import pytest

from benchmarks.random_corners import case_of
import closed_chain_dynamics as ccd
from closed_chain_dynamics import kernels
from closed_chain_dynamics.description import Contact
from closed_chain_dynamics.kernels import records as at
from closed_chain_dynamics.simulation.contact_modes import ContactModes
from closed_chain_dynamics.simulation.moving_mechanism import MovingMechanism

H = 1e-3
PULL = 1e-9  # of a point that only pushes: rounding [N]
GIVEN = 1e-12  # energy that friction may give: rounding [J]


def slow_tripod(seed):
    """Return a tall body that slides slowly on three points, and its state."""
    rng = np.random.default_rng(seed)
    height = rng.uniform(0.1, 0.4)
    points = np.column_stack([rng.uniform(-0.15, 0.15, (3, 2)), np.full(3, -height)])
    mu = float(rng.uniform(0.4, 1.2))
    box = solid_box(2.0, 0.15, 0.15, height)
    robot, q = body_on_slope(points, Contact(mu=mu), inertia=box, mass=2.0)
    x, y, spin = rng.normal(size=3) * [5e-3, 5e-3, 0.03]
    return robot, q, np.array([x, y, 0.0, 0.0, 0.0, spin])


def normal_forces(motion, modes):
    """Return the forces along the normals, of contacts that slide in the directions noted."""
    a = np.empty(motion.robot.nv)
    with motion.forces():
        assert kernels.forward_dynamics(motion.robot.handle, motion.q, motion.v, a) == at.OK
    return np.array([float(modes.frame(k)['normal_force']) for k in modes.loops])


# of four hundred 28 push on all three points while they slide; as aimed, these pulled once
@pytest.mark.parametrize('seed', [14, 100, 166, 208, 265, 267, 362])
def test_what_pushes_while_it_slides_pushes_as_aimed(seed):
    """The direction at the end of the step may press one point down and lift another."""
    robot, q, v = slow_tripod(seed)
    motion = MovingMechanism(robot, q, v, H)
    modes = ContactModes(motion)
    modes.set(dict.fromkeys(modes.loops, at.SLIDE))
    for k in modes.loops:
        modes.note(k, modes.velocity(k)[0])
    assert normal_forces(motion, modes).min() > 0.0
    with motion.forces():
        kernels.aim_slow(robot.handle, q, v, H, motion.work[3, : robot.nv])
    assert normal_forces(motion, modes).min() > -PULL


def test_friction_of_a_foot_that_is_about_to_lift_gives_no_energy():
    """A leg slides on both feet; as aimed, one of them had to be pulled down with 42 N."""
    q = [-0.05308924682197363, 0.0342708839962709, 0.4372299772707617, 0.09014186213251531]
    q += [0.02108730874302427, -0.346683373157742, 0.9334025974236567, -0.7714432726381887]
    q += [0.6957067784536052, -1.0373190237869894, 0.5930340495863816]
    v = [-0.5150075314516307, -0.12949971451745348, -0.30570568499854517, 1.7898836350220266]
    v += [-0.7741429418141611, -2.961340259392163, -0.02405817584815956, 0.6249736568169427]
    v += [-1.6037055727004104, 0.0]
    sim = ccd.Simulation(case_of('leg', 16).robot, q=q, v=v, dt=7.308128e-4)
    sim.run(sim.dt)
    assert np.diff(sim.log.dissipated).min() > -GIVEN
