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

"""What the browser view shows of models, simulations and logs, without a browser."""

from pathlib import Path

import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics import viewer
from closed_chain_dynamics.cli.main import main
from closed_chain_dynamics.model import library
from closed_chain_dynamics.recording.log_reading import read_npz
from closed_chain_dynamics.viewer.live import LiveSource
from closed_chain_dynamics.viewer.observation import explain, observe

CLOSED_LOOP = 1e-9  # what is asked of a pose that was dragged [m or rad]
ROUNDING = 1e-9  # relative, of forces that two ways give
SOFT = 'stiffness="2e4" damping="100" '


@pytest.fixture
def four_bar():
    robot = ccd.load('four_bar')
    return robot, ccd.assemble(robot, {'crank': 1.0})


def ends_apart(source):
    """Return how far the ends of closed loops are from each other, by the links' placements."""
    seen = observe(source.snapshot())
    return max(np.linalg.norm(loop.ends[1] - loop.ends[0]) for loop in seen.loops)


# --- a model at rest -----------------------------------------------------------------------------
def test_dragging_one_joint_takes_the_others_along(four_bar):
    source = viewer.ModelSource(*four_bar)
    for crank in np.linspace(1.0, 1.0 + 2.0 * np.pi, 40):  # a crank turns all the way round
        before = source.q.copy()
        source.drag('crank', crank)
        assert ends_apart(source) < CLOSED_LOOP
        assert np.all(np.abs(source.q - before) < 0.5), 'no jump to another branch'
    assert np.allclose(np.exp(1j * source.q), np.exp(1j * four_bar[1]), atol=CLOSED_LOOP)


def test_a_position_that_does_not_exist_leaves_everything_where_it_was(four_bar):
    source = viewer.ModelSource(*four_bar)
    before, version = source.q.copy(), source.version
    with pytest.raises(ccd.AssemblyError, match="'coupler_rocker' stays open"):
        source.drag('rocker', 2.6)
    assert np.array_equal(source.q, before) and source.version == version


def test_a_loop_of_a_model_opens_and_closes(four_bar):
    source = viewer.ModelSource(*four_bar)
    source.cut('coupler_rocker')
    source.drag('rocker', 2.6)  # now it may
    (loop,) = observe(source.snapshot()).loops
    assert (
        loop.state == 'open'
        and loop.error == pytest.approx(np.linalg.norm(loop.ends[1] - loop.ends[0]))
        and loop.error > 1e-2
    )
    source.connect('coupler_rocker')
    assert observe(source.snapshot()).loops[0].state == 'closed'
    assert ends_apart(source) < CLOSED_LOOP
    source.reset()
    assert np.array_equal(source.q, four_bar[1])


def test_a_loop_that_cannot_be_closed_stays_open():
    far = (
        Path(library.find('four_bar'))
        .read_text()
        .replace('<child_origin xyz="', '<child_origin xyz="9')
    )
    robot = ccd.load(far.replace('active="true"', 'active="false"'))
    source = viewer.ModelSource(robot)
    with pytest.raises(ccd.AssemblyError):
        source.connect('coupler_rocker')
    assert not source.robot.is_connected('coupler_rocker')


def test_a_model_at_rest_is_shown_with_the_torques_that_hold_it():
    robot = ccd.load('pendulum')
    q = np.array([0.7])
    seen = observe(viewer.ModelSource(robot, q).snapshot())
    joint = next(each for each in robot.description.joints if each.name == 'swing')
    mass = next(each for each in robot.description.links if each.name == joint.child).inertia.mass
    pivot = next(force for force in seen.forces if force.name == 'swing')
    moment = np.cross(seen.center_of_mass - pivot.point, mass * robot.gravity) @ joint.axis
    assert seen.torques[0] == pytest.approx(-moment, rel=ROUNDING) and abs(moment) > 1.0
    assert pivot.vector == pytest.approx(-mass * robot.gravity, abs=ROUNDING)


# --- forces --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    'friction, state',
    [('mu="0.01"', 'sliding'), ('mu="3"', 'sticking'), (SOFT + 'mu="0.01"', 'closed')],
)
def test_forces_that_are_drawn_move_the_centre_of_mass(friction, state):
    text = Path(library.find('two_link')).read_text().replace('mu="0.01"', friction)
    robot = ccd.load(text)
    source = viewer.SimulationSource(ccd.Simulation(robot, log_every=0))
    source.advance(0.05)
    seen, sim = observe(source.snapshot()), source.sim
    (contact,) = (force for force in seen.forces if force.kind == 'contact')
    assert [loop.state for loop in seen.loops] == [state] and np.linalg.norm(contact.vector) > 1.0
    base = next(force for force in seen.forces if force.name == 'joint_1')
    before = ccd.momentum(sim.robot, sim.q, sim.v)[:3]
    h = 1e-7
    sim.dt = h
    sim.step()
    rate = (ccd.momentum(sim.robot, sim.q, sim.v)[:3] - before) / h
    weight = robot.total_mass * robot.gravity
    assert contact.vector + base.vector + weight == pytest.approx(rate, abs=1e-4)


# --- a simulation --------------------------------------------------------------------------------
def test_a_simulation_keeps_pace_with_the_clock_times_its_speed(four_bar):
    source = viewer.SimulationSource(ccd.Simulation(*four_bar, log_every=0))
    for _ in range(10):
        source.advance(0.033)
    assert source.sim.time == pytest.approx(0.33, abs=1.1e-3)
    source.speed = 0.5
    source.advance(0.1)
    assert source.sim.time == pytest.approx(0.38, abs=1.1e-3)
    source.paused = True
    source.advance(0.1)
    source.step()
    assert source.sim.time == pytest.approx(0.381, abs=1.1e-3)
    source.paused = False
    source.advance(100.0)  # the computer slept: it does not catch up
    assert source.sim.time < 0.5
    source.reset()
    assert source.sim.time == 0.0 and np.array_equal(source.sim.q, four_bar[1])


def test_a_simulation_goes_on_from_where_a_joint_was_dragged(four_bar):
    source = viewer.SimulationSource(ccd.Simulation(*four_bar, log_every=0))
    source.advance(0.1)
    source.drag('crank', 2.0)
    assert source.paused and source.sim.time == pytest.approx(0.1) and not source.sim.v.any()
    assert source.sim.q[0] == 2.0 and source.sim.loop_error() < CLOSED_LOOP
    source.paused = False
    source.advance(0.05)
    assert source.sim.v[0] != 0.0


def test_motors_that_hold_keep_a_figure_in_its_pose():
    robot, ways = ccd.load('figure'), {}
    for hold in (False, True):
        source = viewer.SimulationSource(ccd.Simulation(robot, log_every=0))
        source.hold = hold
        knee = robot.joint_slices('left_knee')[0]
        start = source.sim.q[knee].copy()
        v = source.sim.v.copy()
        v[robot.coordinate_names.index('left_knee')] = 2.0
        source.sim.v = v
        for _ in range(20):
            source.advance(0.05)
        ways[hold] = abs(source.sim.q[knee] - start)[0]
        assert np.any(source.snapshot().tau) == hold
    assert ways[True] < 0.02 < 0.5 < ways[False]


def test_a_figure_is_explained_and_every_loop_has_its_force():
    source = viewer.SimulationSource(ccd.Simulation(ccd.load('swing'), log_every=0))
    source.advance(0.1)
    seen = observe(source.snapshot())
    assert 'Mobility 7' in explain(seen.snapshot)
    names = [force.name for force in seen.forces if force.kind == 'loop']
    assert names == source.robot.loop_names == [loop.name for loop in seen.loops]
    assert seen.loop_error == pytest.approx(source.sim.loop_error(), abs=1e-12)


# --- a log ---------------------------------------------------------------------------------------
@pytest.mark.parametrize('run', ['log', 'torn', 'all_kinds'])
def test_a_log_comes_back_from_its_file(run, request, tmp_path):
    log = request.getfixturevalue(run)
    log.to_npz(tmp_path / 'run.npz')
    back = read_npz(tmp_path / 'run.npz')
    assert back.robot.description == log.robot.description
    assert np.array_equal(back.robot.gravity, log.robot.gravity)
    for name in ('time', 'kinetic', 'potential', 'work', 'dissipated', 'loop_error', 'lost'):
        assert np.array_equal(getattr(back, name), getattr(log, name)), name
    for what in ('q', 'v', 'tau'):
        (names, values), (names_back, values_back) = log.table(what), back.table(what)
        assert names == names_back and np.array_equal(values, values_back, equal_nan=True)
    assert [(each.time, each.kind, each.name, each.mobility_after) for each in back.events] == [
        (each.time, each.kind, each.name, each.mobility_after) for each in log.events
    ]
    for one, other in zip(log.segments, back.segments):
        assert one.structure == other.structure


def test_scrubbing_through_a_log_shows_its_samples_and_its_structure(log):
    source = viewer.LogSource(log)
    for time_, state in ((0.1, 'closed'), (0.201, 'open'), (0.25, 'closed'), (0.05, 'closed')):
        source.seek(time_)
        seen = observe(source.snapshot())
        k = np.searchsorted(log.time, time_ + 1e-9, side='right') - 1
        assert seen.snapshot.time == log.time[k] and seen.loops[0].state == state
        assert np.array_equal(seen.snapshot.q, log.q[k])
        assert source.samples()[-1, 0] <= log.time[k]
    source.paused = False
    source.advance(1e3)
    assert source.snapshot().time == log.time[-1] and source.paused
    source.toggle()  # at the end, to go on is to begin again
    assert source.snapshot().time == log.time[0] and not source.paused


def test_a_joint_that_was_torn_off_is_shown_open(torn):
    source = viewer.LogSource(torn)
    source.seek(source.duration)
    states = {loop.name: loop.state for loop in observe(source.snapshot()).loops}
    assert states == {'coupler_rocker': 'closed', 'coupler': 'open'}


@pytest.mark.parametrize(
    'content, complaint',
    [(None, 'cannot be read'), (b'PK nonsense', 'not a log'), (b'', 'not a log')],
)
def test_a_file_that_is_no_log_is_refused(tmp_path, capsys, content, complaint):
    path = tmp_path / 'run.npz'
    if content is not None:
        path.write_bytes(content)
    assert main(['view', str(path)]) == 1
    assert complaint in capsys.readouterr().err


# --- a system that runs elsewhere ----------------------------------------------------------------
def test_a_live_system_shows_what_it_hears_and_asks_for_what_is_wanted(four_bar):
    robot, q = four_bar
    asked, news = [], []
    source = LiveSource(
        robot,
        lambda live: [news.pop()(live)] if news else None,
        lambda kind, name: asked.append((kind, name)),
    )
    source.drag('crank', 0.8)  # nobody else moves it yet
    assert source.kind == 'model' and source.can_drag and ends_apart(source) < CLOSED_LOOP
    joints = {name: (q[k], 0.1 * k) for k, name in enumerate(robot.joint_names)}
    news.append(lambda live: live.take_joints(joints, 3.0))
    source.advance(0.03)
    seen = observe(source.snapshot())
    assert source.kind == 'live system' and not source.can_drag
    assert seen.snapshot.time == 3.0 and np.array_equal(seen.snapshot.q, q)
    assert np.array_equal(seen.snapshot.v, [0.0, 0.1, 0.2])
    source.cut('coupler_rocker')
    assert asked == [('cut', 'coupler_rocker')]
    assert observe(source.snapshot()).loops[0].state == 'closed', 'it is only asked for'
    source.take_structure({'coupler_rocker': False, 'coupler': False})
    source.take_torques({'crank': 0.7, 'nobody': 1.0})
    seen = observe(source.snapshot())
    assert {loop.name: loop.state for loop in seen.loops} == {
        'coupler_rocker': 'open',
        'coupler': 'open',
    }
    assert seen.torques == pytest.approx([0.7])
    source.take_joints({'coupler': ([0.0, 0.0, 5.0, 0.0, 0.0, 0.0, 1.0], None)}, 3.1)
    place = robot.link_names.index('coupler_link')
    assert observe(source.snapshot()).positions[place] == pytest.approx([0.0, 0.0, 5.0])
    source.take_structure({'coupler_rocker': True})
    assert {loop.state for loop in observe(source.snapshot()).loops} == {'closed'}
