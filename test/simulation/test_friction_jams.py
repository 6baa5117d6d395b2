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

"""Where no finite force fits the motion: a walker whose front foot jams, against all its ways."""

from helpers.compass_walker import LEG, MU, Feet, compass
import numpy as np
import pytest

from benchmarks.random_corners import case_of
import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import (
    Contact,
    Description,
    Inertia,
    Joint,
    JointType,
    Link,
    LoopJoint,
    LoopType,
    Pose,
)

EXACT = 1e-9
SPEEDS = [0.1, 0.5, 1.0, -0.5]


def feet_above_floor(q):
    """Return the lowest point of both feet over a whole log."""
    return (q[:, 1:2] - LEG * np.cos(q[:, 2:4])).min()


@pytest.mark.parametrize('integrator', ['rk4', 'adaptive'])
@pytest.mark.parametrize('speed', SPEEDS)
@pytest.mark.parametrize('spread', [0.2, 0.4])
def test_a_walker_whose_front_foot_pushes_into_the_floor_trips_over_it(spread, speed, integrator):
    """No choice of lift and slip has forces: one impulse, of an impact without collision, has."""
    robot, q = compass(spread)
    v = np.array([speed, 0.0, 0.0, 0.0])
    oracle = Feet(q, v)
    assert oracle.forces() == []
    (impulse,) = oracle.impulses()
    sim = ccd.Simulation(robot, q=q, v=v, dt=1e-3, integrator=integrator)
    start = sim.energy()
    sim.run(1e-9)
    front, rear = ('foot_b', 'foot_a') if speed > 0.0 else ('foot_a', 'foot_b')
    assert {(event.kind, event.name) for event in sim.events} == {
        ('stick', front),
        ('lift_off', rear),
    }
    assert np.abs(sim.v - (v + oracle.response @ impulse)).max() < 1e-7  # and g times 1e-9 s
    (jam,) = (event for event in sim.events if event.name == front)
    x, _, z = jam.impulse
    assert [z, x] == pytest.approx(impulse[np.abs(impulse) > EXACT], rel=1e-6)
    assert abs(x) < MU * z
    assert jam.energy_lost == pytest.approx(-impulse @ (oracle.u + 0.5 * oracle.G @ impulse))
    assert abs(sim.energy().balance - start.balance) < EXACT


@pytest.mark.parametrize('speed', SPEEDS)
@pytest.mark.parametrize('spread', [0.2, 0.4, 0.9])
def test_a_walker_in_double_support_goes_on_in_few_events(spread, speed):
    robot, q = compass(spread)
    v = np.array([speed, 0.0, 0.0, 0.0])
    sim = ccd.Simulation(robot, q=q, v=v, dt=1e-3)
    start, mirrored = sim.energy(), ccd.Simulation(robot, q=q, v=-v, dt=1e-3)
    sim.run(0.3)
    mirrored.run(0.3)
    assert len(sim.events) < 20
    assert abs(sim.energy().balance - start.balance) < 1e-6
    assert float(sim.energy()) <= float(start)
    assert feet_above_floor(sim.log.q) > -EXACT
    assert all(event.energy_lost >= 0.0 for event in sim.events)
    x, z, a, b = mirrored.q
    assert sim.q == pytest.approx([-x, z, -b, -a], abs=1e-6)


@pytest.mark.parametrize('spread', [0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])
def test_it_jams_exactly_where_no_forces_fit(spread):
    robot, q = compass(spread)
    v = np.array([0.5, 0.0, 0.0, 0.0])
    fitting = Feet(q, v).forces()
    sim = ccd.Simulation(robot, q=q, v=v, dt=1e-3)
    sim.run(1e-9)
    assert (sim.energy().lost > 0.0) == (not fitting)
    assert bool(fitting) == (spread > 0.55)


def rod(angle, mu, speed):
    """Return a slender rod of 2 kg and 2 m that slides with its tip ahead, and its state."""
    mass, half = 2.0, 1.0
    turning = mass * half**2 / 3.0
    links = [Link('world'), Link('cart'), Link('lift')]
    links.append(Link('rod', Inertia(mass, Pose(), (1e-3, 0.0, 0.0, turning, 0.0, turning))))
    joints = (
        Joint('x', JointType.PRISMATIC, 'world', 'cart', axis=(1.0, 0.0, 0.0)),
        Joint('z', JointType.PRISMATIC, 'cart', 'lift', axis=(0.0, 0.0, 1.0)),
        Joint('turn', JointType.CONTINUOUS, 'lift', 'rod', axis=(0.0, 1.0, 0.0)),
    )
    tip = LoopJoint(
        'tip',
        LoopType.SURFACE,
        'world',
        'rod',
        child_origin=Pose((half, 0.0, 0.0)),
        contact=Contact(mu=mu),
    )
    robot = ccd.Mechanism(Description('rod', tuple(links), joints, (tip,)))
    q = np.array([0.0, half * np.sin(angle), angle])
    return robot, q, np.array([speed, 0.0, 0.0]), mass


@pytest.mark.parametrize('integrator', ['euler', 'rk4', 'adaptive'])
@pytest.mark.parametrize('angle', [1.0, 1.1, 1.2])
def test_painleves_rod_jams_where_no_force_fits(angle, integrator):
    """
    With s, c of its angle, A = (1 + 3 c^2 - 3 mu s c) / m: below zero an impulse stops the tip.

    Its parts are n = 3 s c m v / 4 and t = (1 + 3 c^2) m v / 4, and half of t v is lost.
    """
    speed, s, c = 0.7, np.sin(angle), np.cos(angle)
    locks = (1.0 + 3.0 * c * c) / (3.0 * s * c)
    for mu, jams in ((locks * (1.0 - 1e-4), False), (locks * (1.0 + 1e-4), True)):
        robot, q, v, mass = rod(angle, mu, speed)
        sim = ccd.Simulation(robot, q=q, v=v, dt=1e-12, integrator=integrator)
        sim.step()
        assert (sim.energy().lost > 0.0) == jams
        if jams:
            (jam,) = sim.events
            n, t = 0.75 * s * c * mass * speed, -0.25 * (1.0 + 3.0 * c * c) * mass * speed
            assert jam.kind == 'stick'
            assert jam.impulse == pytest.approx([t, 0.0, n], abs=1e-6)
            assert jam.energy_lost == pytest.approx(-0.5 * t * speed, rel=1e-6)
            assert sim.v == pytest.approx(
                [speed + t / mass, n / mass, 3.0 * (-s * t - c * n) / mass], abs=1e-6
            )
            with pytest.raises(ccd.StructureError, match="'tip'.*frictional paradox"):
                ccd.forward_dynamics(robot, q, v)


def test_a_foot_that_friction_is_about_to_jam_stops():
    """
    A leg stumbles: forces grow without bound until the foot stands, and no step follows them.

    At 5e7 N, 0.4 m/s were left, and a step was said to be too long for what is stiff.
    """
    q = [-0.5331253596910944, 0.42549211818615923, -0.40831880965427336, -0.3575596912223692]
    q += [-0.8870300675406787, -0.18285374052660242, 0.22780086932927474, -0.3232770809641706]
    q += [0.4965543238416075, -0.2235775811762105, -0.49094784033242733]
    v = [-1.7986566470883159, -0.5130392730881561, 2.3260327094529005, -0.18986294194008815]
    v += [-9.591537581925985, -3.465069531656019, 0.001490317751307298, 0.0]
    v += [-0.31977306583109416, 3.0186493448607714]
    case = case_of('leg', 30)
    sim = ccd.Simulation(case.robot, q=q, v=v, dt=1e-3)
    start = sim.energy()
    sim.run(3e-3, case.torques[3])
    (stop,) = sim.events
    assert (stop.kind, stop.name) == ('stick', 'l_foot_0')
    assert np.diff(sim.log.dissipated).min() > 0.0
    assert abs(sim.energy().balance - start.balance) < 1e-5 * start.kinetic
