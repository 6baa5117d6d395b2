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

"""Equations of mechanisms with ball and free joints: terms and code against the core."""

import ctypes
from dataclasses import replace
import json

import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.cli.main import main
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.symbolic.elimination import derive
from closed_chain_dynamics.symbolic.speed import compile_c

SAME = 1e-10  # relative to the largest force: sums in another order, and H of size 1000


def with_rotors(model, armature):
    description = ccd.load(model).description
    joints = [
        replace(joint, dynamics=replace(joint.dynamics, armature=armature))
        for joint in description.all_joints
    ]
    tree, loops = joints[: len(description.joints)], joints[len(description.joints) :]
    return Mechanism(replace(description, joints=tuple(tree), loops=tuple(loops)))


@pytest.mark.parametrize(
    ('model', 'armature'), [('stewart', 0.0), ('stewart', 0.3), ('figure', 0.0), ('swing', 0.0)]
)
def test_terms_are_those_of_the_core_and_add_up(model, armature):
    robot = with_rotors(model, armature)
    rng = np.random.default_rng(6)
    q = ccd.assemble(robot)
    equations = derive(robot, 'ic', q)
    c = ccd.coordinates(robot, q)
    assert equations.independent == c.independent
    G = [robot.coordinate_names.index(name) for name in c.independent]
    v = ccd.complete_velocity(robot, q, rng.normal(size=robot.nv))
    a = ccd.complete_acceleration(robot, q, v, rng.normal(size=robot.nv))
    found = {term: equations.evaluate(term, q, v[G], a[G]) for term in equations.term_names}
    whole = ccd.inverse_dynamics(robot, q, v, a).tau_G
    scale = np.abs(whole).max()
    M_1 = c.W.T @ ccd.mass_matrix(robot, q) @ c.W
    assert np.abs(found['W'] - c.W).max() < SAME * np.abs(c.W).max()
    assert np.abs(found['M_1'] - M_1).max() < SAME * np.abs(M_1).max()
    if not equations.notes:
        assert np.abs(found['tau_1'] - whole).max() < SAME * scale
    parts = sum(found[term] for term in ('c_1', 'g_1', 'tau_1s', 'tau_1d'))
    assert np.abs(found['M_1'] @ a[G] + parts - found['tau_1']).max() < SAME * scale


def test_the_command_writes_c_that_computes_the_same(tmp_path, capsys):
    file, module = tmp_path / 'stewart.c', tmp_path / 'stewart.py'
    options = ['--c', str(file), '--python', str(module), '--json']
    assert main(['derive', 'stewart', '--what', 'g', *options]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report['method'] == 'ic' and report['terms']['g_1']['operations']['*'] > 100
    assert 'derived by the method ic' in report['warnings'][0]
    robot = ccd.load('stewart')
    q = ccd.assemble(robot)
    equations = derive(robot, 'ic', q)
    expected = equations.evaluate('g_1', q)
    out = np.empty_like(expected)
    library = compile_c(file.read_text(), options=('-O1',))
    library.stewart_g_1(*(ctypes.c_void_p(x.ctypes.data) for x in (q, out)))
    assert np.abs(out - expected).max() < SAME * np.abs(expected).max()
    assert 'def g_1(q):' in module.read_text()
