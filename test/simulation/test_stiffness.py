"""Stiff springs and dampers: a step is taken in as many parts as they need, or refused by name."""

from helpers.single_joints import slider
import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.errors import StateError


def test_a_stiff_spring_keeps_its_energy():
    sim = ccd.Simulation(slider(0.01, stiffness=3e7), q=[1e-3])
    sim.run(0.01)
    assert sim.energy() == pytest.approx(15.0, rel=1e-9)
    phase = np.sqrt(3e7 / 0.01) * 0.01
    assert sim.q == pytest.approx([1e-3 * np.cos(phase)], abs=1e-8)


def test_what_is_too_stiff_is_refused_by_name():
    sim = ccd.Simulation(slider(0.01, stiffness=3e13), q=[1e-3])
    with pytest.raises(StateError, match=r"spring 'spring' swings with 5\.48e\+07 rad/s"):
        sim.run(0.01)
    damped = ccd.Simulation(slider(1e-5, damping=1e5), v=[1.0])
    with pytest.raises(StateError, match=r"the damping of joint 'slide' stops it within 1e-10 s"):
        damped.run(0.01)


def test_strong_damping_of_a_light_link_is_right():
    """v = v_0 exp(-d t / m): 1e-5 kg with 1 N s/m forgets its speed in 10 microseconds."""
    sim = ccd.Simulation(slider(1e-5, damping=1.0), v=[1.0])
    sim.run(0.01)
    assert sim.q == pytest.approx([1e-5], rel=1e-8)
    assert sim.energy().dissipated == pytest.approx(5e-6, rel=1e-8)


def test_smooth_motion_is_taken_in_one_part():
    """What is not stiff pays nothing: as many evaluations as steps ask for."""
    one = ccd.Simulation(slider(2.0, stiffness=50.0), q=[1.0])
    plain = ccd.Simulation(slider(2.0, stiffness=50.0), q=[1.0], tolerance=np.inf)
    one.run(1.0)
    plain.run(1.0)
    assert np.array_equal(one.log.q, plain.log.q)
