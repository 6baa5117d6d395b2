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

"""The benchmark: its models are the same in every engine, and its report can be read."""

import json
import sys

from helpers.random_mechanisms import relative_error
import numpy as np
import pytest

import benchmarks
from benchmarks import agreement, side_by_side as bench
from benchmarks.agreement import agree
from benchmarks.models import case
from benchmarks.peers import MuJoCo, Pinocchio, depth_first
import closed_chain_dynamics as ccd
from closed_chain_dynamics.cli.main import main
from closed_chain_dynamics.recording.terminal import Style

# tree degrees of freedom, rows, mobility, actuators: what the documentation of the models says
SIZES = {
    'M1': (3, 3, 1, 1),
    'M2': (34, 15, 19, 16),
    'M3': (36, 18, 18, 30),
    'M4_8': (24, 24, 8, 8),
}
# Numbers pass through different algorithms, and the ladder's inertia has a condition number of 50.
# The worst below is 5e-13, and 6e-11 where MuJoCo's solver stops.
RELATIVE, MUJOCO = 1e-11, 1e-8


@pytest.fixture(scope='module', params=SIZES)
def model(request):
    return case(request.param)


def test_models_have_the_documented_size(model):
    c = ccd.coordinates(model.robot, model.q)
    assert SIZES[model.key] == (
        model.robot.nv,
        len(c.J_C),
        c.mobility,
        len(model.robot.actuator_names),
    )


def test_poses_are_closed_and_motions_respect_the_loops(model):
    J_C, error, bias = ccd.constraint_jacobian(model.robot, model.q, model.v)
    assert np.abs(error).max() <= 1e-14
    assert np.abs(J_C @ model.v).max() <= 1e-13
    assert np.abs(J_C @ model.a + bias).max() <= 1e-12 * np.abs(model.a).max()


def test_joints_run_depth_first(model):
    order = [joint.name for joint in depth_first(model.robot.description)]
    assert order == model.robot.joint_names


def test_pinocchio_gives_the_same_answers(model):
    peer, robot, q, v, a = Pinocchio(model), model.robot, model.q, model.v, model.a
    function, arguments = peer.newton_euler()
    assert relative_error(ccd.newton_euler(robot, q, v, a), function(*arguments)) <= RELATIVE
    function, arguments = peer.mass_matrix()
    assert relative_error(ccd.mass_matrix(robot, q), function(*arguments)) <= RELATIVE
    function, arguments = peer.constraint_dynamics(1e-8, 20)
    assert relative_error(a, function(*arguments)) <= RELATIVE
    inverse = ccd.inverse_dynamics(robot, q, v, a)
    assert relative_error(inverse.tau_A, peer.inverse_by_null_space()) <= RELATIVE
    assert (
        relative_error(inverse.coordinates.S.T @ peer.inverse_by_least_squares(), inverse.tau_G)
        <= 10.0 * RELATIVE
    )


def test_mujoco_gives_the_same_answers_but_for_its_softness(model):
    peer, robot, q, rest = MuJoCo(model), model.robot, model.q, np.zeros(model.robot.nv)
    theirs = peer.acceleration_at_rest()
    M = ccd.mass_matrix(robot, q)
    assert relative_error(peer.mass_matrix_ours(), M) <= RELATIVE
    # the same motions are free
    rows, _ = peer.constraint_rows()
    W = ccd.coordinates(robot, q).W
    assert np.abs(rows @ W).max() <= RELATIVE * np.abs(rows).max() * np.abs(W).max()
    force = model.tau - ccd.newton_euler(robot, q, rest, rest)
    assert relative_error(peer.softened(M, force), theirs) <= MUJOCO
    rigid = ccd.forward_dynamics(robot, q, rest, model.tau_A).acceleration
    # each loop of a chain yields by the softness times a lever of about ten
    assert relative_error(theirs, rigid) <= 20.0 * peer.SOFTNESS * len(robot.loop_names)


def test_an_engine_must_not_be_given_what_breaks_it():
    with pytest.raises(ValueError, match='world'):
        Pinocchio(case('M3')).recursive_dynamics(1e-6, 3)


def test_disagreement_stops_the_benchmark(model):
    with pytest.raises(ccd.ClosedChainError, match='tau_O differs'):
        agree(model, 'another engine', {'tau_O': (1e-3, 1e-10)})
    with pytest.raises(ccd.ClosedChainError):
        agree(model, 'another engine', {'tau_O': (np.nan, 1e-10)})


def test_a_missing_engine_is_left_out(monkeypatch):
    def absent(model):
        raise ImportError('no such engine')

    monkeypatch.setattr(bench, 'Pinocchio', absent)
    monkeypatch.setattr(bench, 'MuJoCo', absent)
    monkeypatch.setattr(bench, 'MODELS', ('M1', 'M2', 'M3', 'M4_64'))
    monkeypatch.setattr(bench, 'TARGETS', bench.TARGETS[:5])
    monkeypatch.setattr(bench, 'QUICK', bench.Plan(0.1, (1, 8, 16), 0.1))
    report = bench.bench_report(quick=True)
    assert set(report['missing']) == {'pinocchio', 'mujoco'}
    assert all(
        list(each['times']) == ['ours']
        for model in report['models']
        for each in model['operations'].values()
    )
    assert 'no such engine' in bench.render(report, Style())


def test_quick_bench_writes_json_with_ratios(monkeypatch, capsys):
    """All that it measures, for a shorter time: what comes out is not looked at."""
    monkeypatch.setattr(bench, 'QUICK', bench.Plan(0.05, (1, 8, 16, 64), 0.05))
    few = agreement.RECURSIVE_SETTINGS[::8]  # each takes gigabytes of fresh memory
    monkeypatch.setattr(agreement, 'RECURSIVE_SETTINGS', few)
    monkeypatch.setitem(sys.modules, 'benchmarks', benchmarks)  # the command loads its own
    assert main(['bench', '--quick', '--json']) == 0
    report = json.loads(capsys.readouterr().out)
    assert report['schema'] == bench.SCHEMA and not report['missing']
    assert [model['name'] for model in report['models']] == list(bench.MODELS)
    for model in report['models']:
        for operation in model['operations'].values():
            assert operation['ratios']['pinocchio']['median'] > 0.0
            assert operation['times']['ours']['median_us'] > 0.0
    assert len(report['targets']) == len(bench.TARGETS) + 2
    assert report['ladder']['k'][-1] == 64
    text = bench.render(report, Style())
    assert 'Targets' in text and 'M4_64' in text
