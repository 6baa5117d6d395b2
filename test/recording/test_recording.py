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

"""The log of a simulation: what is asked for or read back is what was simulated."""

import csv
import math
import subprocess
import sys

import numpy as np
import pytest

import closed_chain_dynamics as ccd

ROUNDING = 1e-12  # what a chain of a few rotations loses
DYNAMICS = 1e-9  # relative: accelerations and reactions against a closed form
DIFFERENCES = 1e-2  # rates by central differences over 1 ms
LOUD = ('PIL', 'matplotlib', 'rosbags')


# --- samples -----------------------------------------------------------------------------------
def test_an_event_has_a_sample_before_and_one_after(log):
    at_cut = np.flatnonzero(log.time == log.events[0].time)
    assert np.diff(at_cut).tolist() == [1]
    assert np.array_equal(*log.q[at_cut])
    assert len(log) == len(log.time) == len(log.q) == len(log.tau) == 1 + 302 + 2


def test_torques_are_those_of_the_step_that_led_there_or_follows(log):
    before, after = np.flatnonzero(log.time == log.events[0].time)
    assert log.tau[[0, 1, before], 0].tolist() == [0.4] * 3
    assert log.tau[[after, after + 1], 0].tolist() == [-0.3] * 2
    assert log.tau[-1, 0] == 0.0


def test_each_segment_has_its_mechanism_back(log):
    connected = [part.mechanism().is_connected('coupler_rocker') for part in log.segments]
    assert connected == [True, False, True]


def test_a_log_without_samples_is_empty():
    sim = ccd.Simulation(ccd.load('four_bar'), log_every=0)
    sim.run(0.01)
    assert len(sim.log) == 0
    assert (sim.log.q.shape, sim.log.tau.shape, sim.log.time.shape) == ((0, 3), (0, 1), (0,))


def test_joint_gives_positions_by_name(log):
    assert np.array_equal(log.joint('crank'), log.q[:, 0])
    assert np.array_equal(log.velocity('rocker'), log.v[:, 2])
    # where planar bars meet, the angle of the loop joint is the difference of theirs
    angle = log.joint('rocker') - log.joint('crank') - log.joint('coupler')
    turns = (log.joint('coupler_rocker') - angle) / (2.0 * math.pi)
    assert np.abs(turns - np.round(turns)).max() < ROUNDING
    rate = np.gradient(np.unwrap(log.joint('coupler_rocker')[:200]), log.time[:200])
    assert np.abs(log.velocity('coupler_rocker')[1:199] - rate[1:-1]).max() < DIFFERENCES
    with pytest.raises(ccd.NameNotFound, match="Did you mean 'crank'"):
        log.joint('crnk')


def test_joints_of_several_coordinates_have_as_many_columns(all_kinds):
    assert all_kinds.joint('fly').shape == (51, 7)
    assert all_kinds.velocity('ball').shape == (51, 3)
    names, values = all_kinds.table('q')
    assert names[names.index('glide:x') :][:4] == ['glide:x', 'glide:y', 'glide:cos', 'glide:sin']
    assert np.array_equal(values, all_kinds.q)


def test_a_joint_of_the_tree_that_is_cut_has_no_position(torn):
    q = torn.q
    assert [each.shape for each in q] == [(51, 3), (51, 9)]
    angle = torn.joint('coupler')
    assert np.array_equal(angle[:51], q[0][:, 1]) and np.isnan(angle[51:]).all()
    assert not np.isnan(torn.joint('crank')).any()
    names, values = torn.table('q')
    assert np.isnan(values[:51, names.index('coupler:qw')]).all()
    assert np.isfinite(values[51:, names.index('coupler:qw')]).all()


# --- reactions ---------------------------------------------------------------------------------
def test_reactions_of_a_pendulum_are_those_of_the_closed_form():
    robot = ccd.load('pendulum', actuated=['swing'])
    (joint,) = (each for each in robot.description.joints if each.name == 'swing')
    (arm,) = (each for each in robot.description.links if each.name == 'arm')
    sim = ccd.Simulation(robot, [0.4], [3.0])
    sim.run(0.2, [1.5])
    m, g, d = arm.inertia.mass, 9.80665, joint.dynamics.damping
    length, inertia = -arm.inertia.origin.xyz[2], arm.inertia.tensor[1, 1]
    x, w = sim.log.joint('swing'), sim.log.velocity('swing')
    assert joint.dynamics.friction == 0.0
    a = (1.5 - d * w - m * g * length * np.sin(x)) / (inertia + m * length**2)
    force = m * np.column_stack(
        [
            length * (a * np.cos(x) - w**2 * np.sin(x)),
            0.0 * x,
            g + length * (a * np.sin(x) + w**2 * np.cos(x)),
        ]
    )
    found = sim.log.reactions('swing')
    assert np.abs(found[:, :3] - force).max() < DYNAMICS * np.abs(force).max()
    every = sim.log.reactions('swing', every=50)
    assert np.array_equal(every, found[::50])


def test_reactions_have_the_external_wrench_in_them():
    robot = ccd.load('pendulum')
    sim = ccd.Simulation(robot, [0.0])
    sim.run(0.001)
    sim.apply_wrench('arm', [0.0, 7.0, 0.0, 0.0, 0.0, 0.0])  # along the axis: nothing moves
    sim.run(0.001)
    assert sim.log.reactions('swing')[[0, -1], 1] == pytest.approx([0.0, -7.0], abs=ROUNDING)


def test_an_open_loop_joint_carries_nothing(log):
    force = np.linalg.norm(log.reactions('coupler_rocker')[:, :3], axis=1)
    is_open = (log.segments[0].get('lost').size, log.segments[1].get('lost').size)
    assert np.all(force[is_open[0] : sum(is_open)] == 0.0)
    assert np.all(force[: is_open[0]] > 0.1)
    with pytest.raises(ccd.NameNotFound, match='coupler_rocker'):
        log.reactions('coupler_roker')


# --- tables ------------------------------------------------------------------------------------
def test_csv_reads_back_exactly(log, tmp_path):
    log.to_csv(tmp_path / 'run.csv')
    with open(tmp_path / 'run.csv', newline='', encoding='utf-8') as file:
        rows = list(csv.DictReader(file))
    for name, values in (
        ('time', log.time),
        ('kinetic', log.kinetic),
        ('lost', log.lost),
        ('loop_error', log.loop_error),
        ('q:rocker', log.joint('rocker')),
        ('v:coupler', log.velocity('coupler')),
        ('tau:crank', log.tau[:, 0]),
    ):
        assert [float(row[name]) for row in rows] == values.tolist(), name
    happened = {number: row['event'] for number, row in enumerate(rows) if row['event']}
    after = [np.flatnonzero(log.time == event.time)[1] for event in log.events]
    assert happened == {after[0]: 'cut coupler_rocker', after[1]: 'connect coupler_rocker'}


def test_csv_leaves_cells_empty_where_a_coordinate_is_not_there(torn, tmp_path):
    torn.to_csv(tmp_path / 'run.csv')
    with open(tmp_path / 'run.csv', newline='', encoding='utf-8') as file:
        rows = list(csv.DictReader(file))
    assert [row['q:coupler'] == '' for row in rows] == [False] * 51 + [True] * 51
    assert [float(row['q:coupler:z']) for row in rows[51:]] == torn.q[1][:, 3].tolist()


def test_npz_reads_back_exactly(log, tmp_path):
    log.to_npz(tmp_path / 'run.npz')
    with np.load(tmp_path / 'run.npz') as found:  # and without pickles
        for name in (
            'time',
            'q',
            'v',
            'tau',
            'kinetic',
            'potential',
            'work',
            'dissipated',
            'lost',
            'loop_error',
        ):
            assert np.array_equal(found[name], getattr(log, name)), name
        assert found['q_names'].tolist() == ['crank', 'coupler', 'rocker']
        assert found['event_kind'].tolist() == ['cut', 'connect']
        assert found['event_mobility'].tolist() == [[1, 3], [3, 1]]
        assert found['event_time'].tolist() == [event.time for event in log.events]


# --- what is refused ---------------------------------------------------------------------------
@pytest.mark.parametrize(
    'call, message',
    [
        (lambda log, at: log.plot(at / 'run.docx'), r'End the name in \.png'),
        (lambda log, at: log.record(at / 'run.avi'), r'End the name in \.gif'),
        (
            lambda log, at: log.record(at / 'run.gif', fps=0),
            'fps of an animation must be positive',
        ),
        (lambda log, at: log.record(at / 'run.gif', speed=-1), 'speed of an animation'),
        (lambda log, at: log.record(at / 'run.gif', view='back'), 'front, side, top'),
        (lambda log, at: log.plot(at / 'none' / 'run.png'), 'there is no folder'),
        (lambda log, at: log.to_mcap(at / 'none' / 'run'), 'there is no folder'),
        (lambda log, at: log.to_csv(at), 'cannot be written: Is a directory'),
        (lambda log, at: log.to_npz(at / 'none' / 'run.npz'), 'cannot be written: No such file'),
    ],
)
def test_files_that_cannot_be_are_refused(call, message, log, tmp_path):
    with pytest.raises(ccd.ClosedChainError, match=message):
        call(log, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    'library, call',
    [
        ('matplotlib', lambda log, at: log.plot(at / 'run.png')),
        ('PIL', lambda log, at: log.record(at / 'run.gif')),
        ('rosbags', lambda log, at: log.to_mcap(at / 'run.mcap')),
    ],
)
def test_a_missing_library_is_named_with_the_way_to_get_it(
    library, call, log, tmp_path, monkeypatch
):
    for name in [name for name in sys.modules if name.split('.')[0] == library]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ccd.ClosedChainError, match='pip install'):
        call(log, tmp_path)


def test_logging_loads_no_library_for_files():
    script = (
        'import sys, closed_chain_dynamics as ccd\n'
        'from closed_chain_dynamics.recording import animation, mcap, plots\n'
        'sim = ccd.Simulation(ccd.load("pendulum")); sim.run(0.01); sim.log.q\n'
        'print(*{name.split(".")[0] for name in sys.modules})'
    )
    done = subprocess.run([sys.executable, '-c', script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not set(LOUD) & set(done.stdout.split())
