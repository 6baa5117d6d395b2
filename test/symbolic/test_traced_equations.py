"""Equations of mechanisms with ball and free joints: terms and C against the core."""

import ctypes
from dataclasses import replace
import json

import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.cli.main import main
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.symbolic.speed import compile_c
from closed_chain_dynamics.symbolic.traced_equations import TracedEquations

SAME = 1e-11  # relative to the largest force: sums in another order
TERMS = ('M_1', 'c_1', 'g_1', 'tau_1s', 'tau_1d', 'tau_1')


def values(equations, q, v_1, a_1):
    given = {'q': q, 'v_1': v_1, 'a_1': a_1}
    found = {}
    for term in TERMS:
        f = equations.term(term)
        found[term] = f(**{name: given[name] for name in f.name_in()})[term].full()
    return found


def with_rotors(model, armature):
    description = ccd.load(model).description
    joints = [
        replace(joint, dynamics=replace(joint.dynamics, armature=armature))
        for joint in description.joints
    ]
    return Mechanism(replace(description, joints=tuple(joints)))


@pytest.mark.parametrize(
    ('model', 'armature'), [('stewart', 0.0), ('stewart', 0.3), ('figure', 0.0), ('swing', 0.0)]
)
def test_terms_are_those_of_the_core_and_add_up(model, armature):
    robot = with_rotors(model, armature)
    rng = np.random.default_rng(6)
    q = ccd.assemble(robot)
    equations = TracedEquations(robot, q)
    c = ccd.coordinates(robot, q)
    assert equations.independent == c.independent
    G = [robot.coordinate_names.index(name) for name in c.independent]
    v = ccd.complete_velocity(robot, q, rng.normal(size=robot.nv))
    a = ccd.complete_acceleration(robot, q, v, rng.normal(size=robot.nv))
    found = values(equations, q, v[G], a[G])
    whole = ccd.inverse_dynamics(robot, q, v, a).tau_G
    scale = np.abs(whole).max()
    M_1 = c.W.T @ ccd.mass_matrix(robot, q) @ c.W
    assert np.abs(found['M_1'] - M_1).max() < SAME * np.abs(M_1).max()
    if not equations.notes:
        assert np.abs(found['tau_1'].ravel() - whole).max() < SAME * scale
    parts = sum(found[term].ravel() for term in ('c_1', 'g_1', 'tau_1s', 'tau_1d'))
    assert np.abs(found['M_1'] @ a[G] + parts - found['tau_1'].ravel()).max() < SAME * scale


def test_the_command_writes_c_that_computes_the_same(tmp_path, capsys):
    file = tmp_path / 'stewart.c'
    assert main(['derive', 'stewart', '--what', 'M,tau', '--c', str(file), '--json']) == 0
    report = json.loads(capsys.readouterr().out)
    assert report['method'] == 'ic' and report['terms']['tau_1']['operations']['*'] > 1000
    robot = ccd.load('stewart')
    q = ccd.assemble(robot)
    equations = TracedEquations(robot, q)
    n = len(equations.independent)
    rng = np.random.default_rng(3)
    v_1, a_1, out = rng.normal(size=n), rng.normal(size=n), np.empty(n)
    library = compile_c(file.read_text(), options=('-O1', '-Wno-unused-function'))
    library.stewart_tau_1(*(ctypes.c_void_p(x.ctypes.data) for x in (q, v_1, a_1, out)))
    expected = values(equations, q, v_1, a_1)['tau_1'].ravel()
    assert np.abs(out - expected).max() < SAME * np.abs(expected).max()


def test_what_has_to_be_written_out_is_refused_by_name(capsys):
    assert main(['derive', 'figure', '--latex', 'figure.tex']) == 1
    assert '--latex needs equations that are written out' in capsys.readouterr().err
