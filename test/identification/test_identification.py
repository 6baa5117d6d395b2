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

"""Identification: against Pinocchio's regressor, and against parameters that made the data."""

import json

from helpers.own_robots import linkage_leg
import numpy as np
import pytest

from benchmarks.identification_coverage import POSES, resisted
import closed_chain_dynamics as ccd
from closed_chain_dynamics.cli.main import main
from closed_chain_dynamics.identification.base_parameters import base_parameters
from closed_chain_dynamics.identification.estimation import (
    _factor,
    _slope,
    _unfactor,
    consistent_estimate,
    estimate,
    pseudo_inertia,
)
from closed_chain_dynamics.identification.excitation import excite, fourier
from closed_chain_dynamics.identification.parameters import (
    OF_LINK,
    parameters_of,
    values_of,
    with_values,
)
from closed_chain_dynamics.identification.regressor import regressor, tree_regressor

EXACT = 1e-10  # relative: rounding of a few hundred products
SEEDS = 100
MODELS = ('five_bar', 'exo', 'linkage_leg')


def loaded(name):
    """Return a model with its motors: shipped, or in URDF+ with links as flat as drawings."""
    if name != 'linkage_leg':
        return ccd.load(name)
    return ccd.load(linkage_leg(), actuated=['hip', 'drive'])


@pytest.fixture(scope='module', params=MODELS)
def excited(request):
    """Return robot, parameters, pi, an Excitation, and the torques of inverse dynamics."""
    robot, parameters, pi = resisted(loaded(request.param))
    q = ccd.assemble(robot, POSES.get(request.param, {}))
    found = excite(robot, q, candidates=1, improvements=1, samples=240)
    states = zip(found.motion.q, found.motion.v, found.motion.a)
    tau = np.array([ccd.inverse_dynamics(robot, *state).tau_A for state in states])
    return robot, parameters, pi, found, tau


def test_values_of_a_model_come_back_from_its_parameters():
    robot, parameters, pi = resisted(ccd.load('exo'))
    assert values_of(robot, parameters) == pytest.approx(pi, abs=1e-15)


def test_the_regressor_of_the_tree_is_that_of_pinocchio():
    pin = pytest.importorskip('pinocchio')
    robot = ccd.load('five_bar')
    model = pin.buildModelFromUrdf(robot.description.file)
    model.gravity.linear = robot.gravity
    data, rng = model.createData(), np.random.default_rng(1)
    for _ in range(5):
        q, v, a = (rng.normal(size=model.nv) for _ in range(3))
        theirs = pin.computeJointTorqueRegressor(model, data, q, v, a)
        links = [
            next(each.child for each in robot.description.joints if each.name == name)
            for name in list(model.names)[1:]
        ]
        parameters = [each for each in parameters_of(robot, False) if each.name in links]
        ours = tree_regressor(robot, q, v, a, parameters)
        # theirs has Ixx Ixy Iyy Ixz Iyz Izz
        order = [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]
        for k, link in enumerate(links):
            mine = [n for n, each in enumerate(parameters) if each.name == link]
            wanted = theirs[:, 10 * k : 10 * k + 10]
            assert ours[:, mine][:, order] == pytest.approx(wanted, abs=1e-9), link


def test_torques_of_a_closed_chain_are_the_regressor_times_the_parameters(excited):
    """For another pi too, one that the regressor has never seen."""
    robot, parameters, pi, found, _ = excited
    rng = np.random.default_rng(2)
    other = ccd.Mechanism(
        with_values(robot.description, parameters, pi * rng.uniform(0.8, 1.25, len(pi)))
    )
    new = values_of(other, parameters)
    for k in (0, 57, 211):
        state = found.motion.q[k], found.motion.v[k], found.motion.a[k]
        one = regressor(robot, *state, parameters)
        tau = ccd.inverse_dynamics(other, *state).tau_A
        assert one.Y @ new + one.known == pytest.approx(tau, rel=EXACT, abs=EXACT * abs(tau).max())
        if not robot.description.springs:
            assert abs(one.known).max() < EXACT * abs(tau).max()


def test_base_parameters_explain_every_torque_and_are_named(excited):
    _, parameters, pi, found, _ = excited
    base, Y = found.base, found.regressor.Y
    beta = base.values(pi)
    assert Y[:, list(base.independent)] @ beta == pytest.approx(
        Y @ pi, abs=1e-6 * abs(Y @ pi).max()
    )
    assert len(base.names) == np.linalg.matrix_rank(
        Y / np.maximum(np.linalg.norm(Y, axis=0), 1e-9), 1e-6
    )
    silent = [k for k, each in enumerate(parameters) if str(each) in base.without_effect]
    assert abs(Y[:, silent]).max(initial=0.0) < 1e-9 * abs(Y).max()
    alone = {n for n in base.names if ' ' not in n}
    assert not alone & set(base.combined)


def test_a_pendulum_tells_two_numbers_of_its_bodies():
    """Closed form: torque = (I + m l^2) a + m l g sin q + d v + c sign v."""
    robot = ccd.load('pendulum')
    if not robot.actuator_names:
        robot = ccd.load('pendulum', actuated=['swing'])
    parameters = parameters_of(robot)
    rng = np.random.default_rng(0)
    rows = [regressor(robot, *rng.normal(size=(3, 1)), parameters).Y for _ in range(60)]
    base = base_parameters(np.vstack(rows), parameters)
    # both first moments across the axis, the inertia with the armature, damping and friction
    assert len(base.names) == 5
    assert any('armature(swing)' in each and 'I' in each for each in base.names)


def test_excitation_is_better_than_its_start_and_within_limits(excited):
    robot, _, _, found, _ = excited
    for joint in robot.description.joints:
        if joint.name in robot.joint_names and joint.type.nv == 1:
            place, rate = robot.joint_slices(joint.name)
            x, dx = found.motion.q[:, place], found.motion.v[:, rate]
            assert joint.limit.lower <= x.min() and x.max() <= joint.limit.upper
            assert abs(dx).max() <= joint.limit.velocity
    gaps = [max(map(max, robot.loop_gaps(q).values())) for q in found.motion.q[::40]]
    assert max(gaps) < 1e-9
    assert found.condition < np.inf


def test_a_series_has_the_derivatives_that_it_says():
    series = np.random.default_rng(0).normal(size=(2, 3, 2))
    t, h = np.array([0.3, 1.1]), 1e-5
    x, dx, ddx = fourier(series, 2.0, t)
    ahead, behind = (fourier(series, 2.0, t + s) for s in (h, -h))
    assert dx == pytest.approx((ahead[0] - behind[0]) / (2 * h), rel=1e-6)
    assert ddx == pytest.approx((ahead[1] - behind[1]) / (2 * h), rel=1e-6)
    assert fourier(series, 2.0, np.array([0.0]))[0] == pytest.approx(0.0, abs=1e-14)


def test_true_base_parameters_are_within_the_stated_confidence(excited):
    """Of 100 records with noise of 5 % the region of 99 % holds all at once in 95 or more."""
    _, _, pi, found, tau = excited
    true, noise = found.base.values(pi), 0.05 * np.sqrt((tau**2).mean(axis=0))
    together, inside = 0, []
    for seed in range(SEEDS):
        noisy = tau + np.random.default_rng(seed).normal(size=tau.shape) * noise
        got = estimate(found.regressor, noisy, base=found.base, confidence=0.99)
        together += got.contains(true)
        inside.append(((got.lower <= true) & (true <= got.upper)).mean())
    assert together >= 95
    assert np.mean(inside) == pytest.approx(0.99, abs=0.01)


def test_bodies_stay_possible_at_20_percent_noise_and_predict(excited):
    _, parameters, pi, found, tau = excited
    rng = np.random.default_rng(7)
    noisy = tau + 0.2 * rng.normal(size=tau.shape) * np.sqrt((tau**2).mean(axis=0))
    got = estimate(found.regressor, noisy, base=found.base)
    prior = pi * rng.uniform(0.5, 2.0, len(pi))  # a model that is off
    for k, each in enumerate(parameters):
        if each.kind == 'm':
            prior[k : k + 10] = pi[k : k + 10] * rng.uniform(0.5, 2.0)  # still a body
    bodies = consistent_estimate(found.regressor, noisy, got, prior)
    for k, each in enumerate(parameters):
        if each.kind == 'm':
            assert np.linalg.eigvalsh(pseudo_inertia(bodies.pi[k : k + 10]))[0] > 0.0, each
        if each.kind not in OF_LINK:
            assert bodies.pi[k] >= 0.0, each
    clean = found.regressor.Y @ bodies.pi + found.regressor.known - tau.ravel()
    before = found.regressor.Y @ prior + found.regressor.known - tau.ravel()
    assert np.sqrt((clean**2).mean()) < 0.06 * np.sqrt((tau**2).mean())  # far below the noise
    assert np.sqrt((clean**2).mean()) < 0.5 * np.sqrt((before**2).mean())
    model = with_values(ccd.load('five_bar').description, [], [])
    assert model == ccd.load('five_bar').description


def test_a_factor_gives_its_body_back_and_its_slope_is_the_derivative():
    rng = np.random.default_rng(0)
    theta = rng.normal(size=10)
    assert _factor(_unfactor(theta)) == pytest.approx(theta, rel=1e-6, abs=1e-6)
    h = 1e-6
    for k, unit in enumerate(np.eye(10)):
        numeric = (_unfactor(theta + h * unit) - _unfactor(theta - h * unit)) / (2 * h)
        assert _slope(theta)[:, k] == pytest.approx(numeric, rel=1e-6, abs=1e-7)


def in_sqlite(path, folder):
    """Write the joint states of an MCAP file as a rosbag2 folder with a database; return it."""
    from rosbags.highlevel import AnyReader
    from rosbags.rosbag2 import StoragePlugin, Writer
    from rosbags.typesys import Stores, get_typestore

    store, joints = get_typestore(Stores.ROS2_JAZZY), 'sensor_msgs/msg/JointState'
    with (
        AnyReader([path], default_typestore=store) as source,
        Writer(folder, version=9, storage_plugin=StoragePlugin.SQLITE3) as bag,
    ):
        topic = bag.add_connection('/joint_states', joints, typestore=store)
        states = [each for each in source.connections if each.msgtype == joints]
        for _, stamp, raw in source.messages(connections=states):
            bag.write(topic, stamp, raw)
    return folder


@pytest.fixture(scope='module')
def swung():
    """Return a simulation of a five-bar that two motors swing."""
    robot = ccd.load('five_bar')
    q = ccd.assemble(robot, {})
    sim = ccd.Simulation(robot, q, limits=False)  # the push of a stop is in no column
    rates = (0.9, 1.7), (1.3, 2.3)
    sim.run(
        3.0,
        lambda s: [
            4.0 * (q[p] + 0.3 * sum(np.sin(w * 2 * s.time) for w in ws) - s.q[p]) - 0.3 * s.v[p]
            for p, ws in zip((0, 2), rates)
        ],
    )
    return sim


@pytest.mark.parametrize('kind', ['csv', 'mcap', 'db3'])
def test_a_record_of_a_simulation_gives_the_model_back(tmp_path, capsys, swung, kind):
    """Positions of two motors and their torques; the masses of the model are a quarter off."""
    sim, robot = swung, ccd.load('five_bar')
    path = tmp_path / f'run.{"csv" if kind == "csv" else "mcap"}'
    getattr(sim.log, f'to_{path.suffix[1:]}')(path)
    if kind == 'db3':
        (path,) = in_sqlite(path, tmp_path / 'bag').glob('*.db3')
    links = [each.name for each in robot.description.links if each.inertia]
    wrong = with_values(
        robot.description,
        parameters_of(robot, False),
        1.25 * values_of(robot, parameters_of(robot, False)),
    )
    ccd.Mechanism(wrong).save(tmp_path / 'wrong.urdf')
    out = tmp_path / 'found.urdf'
    asked = ['study', 'identify', str(tmp_path / 'wrong.urdf'), '--record', str(path)]
    assert main([*asked, '--rate', '100', '--no-friction', '--urdf', str(out), '--json']) == 0
    report = json.loads(capsys.readouterr().out)
    assert report['held_back'] < 0.01 and report['consistent']['held_back'] < 0.02
    assert 'm(base)' in report['without_effect'] and links
    better, parameters = ccd.load(str(out)), parameters_of(robot, False)
    errors = []
    for each in (wrong, better.description):
        pi = values_of(ccd.Mechanism(each), parameters)
        state = sim.log.q[1000], sim.log.v[1000], np.zeros(4)
        one = regressor(robot, *state, parameters)
        true = one.Y @ values_of(robot, parameters)
        errors.append(abs(one.Y @ pi - true).max() / abs(true).max())
    assert errors[1] < 0.02 < errors[0]
