"""The log of a simulation, and its files: what is read back is what was simulated."""

import csv
import json
import math
import shutil
import subprocess
import sys

import closed_chain_dynamics as ccd
from closed_chain_dynamics import animation, plots
from closed_chain_dynamics.picture import CLOSED, OPEN
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory
import numpy as np
from PIL import Image
import pytest
from rosbags.rosbag2 import Reader
from rosbags.typesys import get_typestore, Stores

ROUNDING = 1e-12        # what a chain of a few rotations loses
DYNAMICS = 1e-9         # relative: accelerations and reactions against a closed form
DIFFERENCES = 1e-5      # rates by central differences over 1 ms
LOUD = ('pillow', 'PIL', 'matplotlib', 'rosbags')

# One joint of each kind that has several coordinates, and two of those with one.
ALL_KINDS = """<robot name="all_kinds" xmlns:cc="urn:closed_chain_dynamics">
  <link name="world"/>
  {links}
  <joint name="fly" type="floating"> <parent link="world"/> <child link="a"/>
    <origin xyz="0 0 1" rpy="0.1 0.2 0.3"/> </joint>
  <joint name="ball" type="floating" cc:type="spherical"> <parent link="a"/> <child link="b"/>
    <origin xyz="0.3 0 0" rpy="0 0.4 0"/> </joint>
  <joint name="push" type="prismatic" cc:role="actuated"> <parent link="b"/> <child link="c"/>
    <origin xyz="0 0.2 0" rpy="0.5 0 0"/> <axis xyz="0 0 1"/>
    <limit effort="10" velocity="10" lower="-9" upper="9"/> </joint>
  <joint name="glide" type="planar"> <parent link="world"/> <child link="d"/>
    <origin xyz="1 0 0" rpy="0.3 0 0"/> <axis xyz="0.6 0 0.8"/> </joint>
  <joint name="tilt" type="fixed"> <parent link="d"/> <child link="e"/>
    <origin xyz="0 0 0.1" rpy="0 0.7 0"/> </joint>
</robot>""".format(links=''.join(
    f'<link name="{name}"> <inertial> <mass value="1"/> <inertia ixx="0.1" iyy="0.2" izz="0.15" '
    'ixy="0" ixz="0" iyz="0"/> </inertial> </link>' for name in 'abcde'))

TWO_BOXES = """<robot name="boxes"> <link name="world"/>
  <link name="red"> <visual> <origin xyz="{red}"/> <geometry> <box size="0.4 0.4 0.4"/>
    </geometry> <material name="r"> <color rgba="1 0 0 1"/> </material> </visual> </link>
  <link name="green"> <visual> <origin xyz="{green}"/> <geometry> <box size="0.2 0.2 0.2"/>
    </geometry> <material name="g"> <color rgba="0 1 0 1"/> </material> </visual> </link>
  <joint name="one" type="fixed"> <parent link="world"/> <child link="red"/> </joint>
  <joint name="two" type="fixed"> <parent link="world"/> <child link="green"/> </joint>
</robot>"""


def four_bar_run():
    """Turn a four-bar, open its loop, go on, and close it again a moment later."""
    robot = ccd.load('four_bar')
    q = ccd.assemble(robot, {'crank': 1.0})
    sim = ccd.Simulation(robot, q, ccd.complete_velocity(robot, q, {'crank': 2.0}))
    sim.run(0.2, {'crank': 0.4})
    sim.cut('coupler_rocker')
    sim.run(0.002, {'crank': -0.3})
    sim.connect('coupler_rocker')
    sim.run(0.1)
    return sim


@pytest.fixture(scope='module')
def sim():
    return four_bar_run()


@pytest.fixture(scope='module')
def log(sim):
    return sim.log


@pytest.fixture(scope='module')
def torn():
    """Return the log of a four-bar whose coupler is torn off the crank in flight."""
    sim = ccd.Simulation(ccd.load('four_bar'))
    sim.run(0.05)
    sim.cut('coupler')
    sim.run(0.05)
    return sim.log


@pytest.fixture(scope='module')
def all_kinds():
    robot = ccd.load(ALL_KINDS)
    v = np.random.default_rng(1).normal(size=robot.nv)
    sim = ccd.Simulation(robot, robot.neutral(), v)
    sim.run(0.05, {'push': 2.0})
    return sim.log


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
    assert np.abs(log.velocity('coupler_rocker')[1:199] - rate[1:-1]).max() < 1e3 * DIFFERENCES
    with pytest.raises(ccd.NameNotFound, match="Did you mean 'crank'"):
        log.joint('crnk')


def test_joints_of_several_coordinates_have_as_many_columns(all_kinds):
    assert all_kinds.joint('fly').shape == (51, 7)
    assert all_kinds.velocity('ball').shape == (51, 3)
    names, values = all_kinds.table('q')
    assert names[names.index('glide:x'):][:4] == ['glide:x', 'glide:y', 'glide:cos', 'glide:sin']
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
    joint, = (each for each in robot.description.joints if each.name == 'swing')
    arm, = (each for each in robot.description.links if each.name == 'arm')
    sim = ccd.Simulation(robot, [0.4], [3.0])
    sim.run(0.2, [1.5])
    m, g, d = arm.inertia.mass, 9.80665, joint.dynamics.damping
    length, inertia = -arm.inertia.origin.xyz[2], arm.inertia.tensor[1, 1]
    x, w = sim.log.joint('swing'), sim.log.velocity('swing')
    assert joint.dynamics.friction == 0.0
    a = (1.5 - d * w - m * g * length * np.sin(x)) / (inertia + m * length**2)
    force = m * np.column_stack([length * (a * np.cos(x) - w**2 * np.sin(x)), 0.0 * x,
                                 g + length * (a * np.sin(x) + w**2 * np.cos(x))])
    found = sim.log.reactions('swing')
    assert np.abs(found[:, :3] - force).max() < DYNAMICS * np.abs(force).max()
    every = sim.log.reactions('swing', every=50)
    assert np.array_equal(every, found[::50])


def test_reactions_have_the_external_wrench_in_them():
    robot = ccd.load('pendulum')
    sim = ccd.Simulation(robot, [0.0])
    sim.run(0.001)
    sim.apply_wrench('arm', [0.0, 7.0, 0.0, 0.0, 0.0, 0.0])   # along the axis: nothing moves
    sim.run(0.001)
    assert sim.log.reactions('swing')[[0, -1], 1] == pytest.approx([0.0, -7.0], abs=ROUNDING)


def test_an_open_loop_joint_carries_nothing(log):
    force = np.linalg.norm(log.reactions('coupler_rocker')[:, :3], axis=1)
    is_open = (log.segments[0].get('lost').size, log.segments[1].get('lost').size)
    assert np.all(force[is_open[0]:sum(is_open)] == 0.0)
    assert np.all(force[:is_open[0]] > 0.1)
    with pytest.raises(ccd.NameNotFound, match='coupler_rocker'):
        log.reactions('coupler_roker')


# --- tables ------------------------------------------------------------------------------------
def test_csv_reads_back_exactly(log, tmp_path):
    log.to_csv(tmp_path / 'run.csv')
    with open(tmp_path / 'run.csv', newline='', encoding='utf-8') as file:
        rows = list(csv.DictReader(file))
    for name, values in (('time', log.time), ('kinetic', log.kinetic), ('lost', log.lost),
                         ('loop_error', log.loop_error), ('q:rocker', log.joint('rocker')),
                         ('v:coupler', log.velocity('coupler')), ('tau:crank', log.tau[:, 0])):
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
    with np.load(tmp_path / 'run.npz') as found:   # and without pickles
        for name in ('time', 'q', 'v', 'tau', 'kinetic', 'potential', 'work', 'dissipated',
                     'lost', 'loop_error'):
            assert np.array_equal(found[name], getattr(log, name)), name
        assert found['q_names'].tolist() == ['crank', 'coupler', 'rocker']
        assert found['event_kind'].tolist() == ['cut', 'connect']
        assert found['event_mobility'].tolist() == [[1, 3], [3, 1]]
        assert found['event_time'].tolist() == [event.time for event in log.events]


# --- ROS 2 messages, read by a library that did not write them --------------------------------
def messages(path):
    """Return {topic: [(time [ns], message)]}."""
    found = {}
    with open(path, 'rb') as file:
        reader = make_reader(file, decoder_factories=[DecoderFactory()])
        for _, channel, record, message in reader.iter_decoded_messages():
            found.setdefault(channel.topic, []).append((record.log_time, message))
    return found


def test_mcap_reads_back_exactly(log, tmp_path):
    log.to_mcap(tmp_path / 'run.mcap')
    found = messages(tmp_path / 'run.mcap')
    states = [message for _, message in found['/joint_states']]
    assert list(states[0].name) == ['crank', 'coupler', 'rocker']
    assert np.array_equal([state.position for state in states], log.q)
    assert np.array_equal([state.velocity for state in states], log.v)
    assert np.array_equal([state.effort[0] for state in states], log.tau[:, 0])
    stamps = [state.header.stamp.sec * 10**9 + state.header.stamp.nanosec for state in states]
    assert stamps == [stamp for stamp, _ in found['/joint_states']]
    assert np.abs(np.array(stamps) * 1e-9 - log.time).max() < 1e-9
    for name in ('kinetic', 'potential', 'work', 'dissipated', 'lost', 'balance'):
        assert np.array_equal([each.data for _, each in found[f'/energy/{name}']],
                              getattr(log, name)), name
    assert np.array_equal([each.data for _, each in found['/loop_error']], log.loop_error)
    events = [json.loads(message.data) for _, message in found['/contact/events']]
    assert [(each['kind'], each['name'], each['time']) for each in events] == [
        (event.kind, event.name, event.time) for event in log.events]
    assert events[1]['impulse'] == log.events[1].impulse.tolist()
    text = found['/robot_description'][0][1].data
    assert ccd.load(text).description == log.robot.description


def matrix(transform):
    """Return a transform message as a homogeneous matrix."""
    r, p = transform.rotation, transform.translation
    x, y, z, w = r.x, r.y, r.z, r.w
    X = np.eye(4)
    X[:3, :3] = [[1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
                 [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
                 [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)]]
    X[:3, 3] = p.x, p.y, p.z
    return X


def world_frames(transforms):
    """Chain transforms, parents before children."""
    frames = {'world': np.eye(4)}
    left = list(transforms)
    while left:
        ready = [each for each in left if each.header.frame_id in frames]
        assert ready, 'the frames do not hang together'
        for each in ready:
            frames[each.child_frame_id] = frames[each.header.frame_id] @ matrix(each.transform)
            left.remove(each)
    return frames


@pytest.mark.parametrize('which', ['log', 'torn', 'all_kinds'])
def test_transforms_put_every_link_where_it_was(which, request, tmp_path):
    log = request.getfixturevalue(which)
    log.to_mcap(tmp_path / 'run.mcap')
    found = messages(tmp_path / 'run.mcap')
    fixed = found['/tf_static'][0][1].transforms
    assert len(found['/tf']) == len(np.unique(log.time))   # one per instant, that after it
    for segment, samples in log.spans():
        robot, sample = segment.mechanism(), samples.stop - 1
        stamp = round(log.time[sample] * 1e9)
        moving, = (message.transforms for time, message in found['/tf'] if time == stamp)
        if sample + 1 < len(log) and log.time[sample + 1] == log.time[sample]:
            continue
        frames = world_frames([*fixed, *moving])
        for link, X in ccd.link_placements(robot, segment.get('q')[-1]).items():
            assert np.abs(frames[link] - X).max() < ROUNDING, link


def test_joints_of_several_coordinates_have_messages_too(all_kinds, tmp_path):
    all_kinds.to_mcap(tmp_path / 'run.mcap')
    found = messages(tmp_path / 'run.mcap')
    first, last = (found['/multi_dof_joint_states'][k][1] for k in (0, -1))
    assert sorted(last.joint_names) == ['ball', 'fly', 'glide']
    place = list(last.joint_names).index
    fly = last.transforms[place('fly')]
    q = all_kinds.joint('fly')[-1]
    assert np.array([fly.translation.x, fly.translation.y, fly.translation.z]) == pytest.approx(
        q[:3], abs=ROUNDING)
    rotation = np.array([fly.rotation.x, fly.rotation.y, fly.rotation.z, fly.rotation.w])
    assert abs(rotation @ q[3:]) == pytest.approx(1.0, abs=ROUNDING)
    spin = last.twist[place('ball')].angular
    assert [spin.x, spin.y, spin.z] == all_kinds.velocity('ball')[-1].tolist()
    # a planar joint: what its velocities in the child's axes do to the child's pose
    glide = [each.transforms[place('glide')] for _, each in found['/multi_dof_joint_states'][:3]]
    step = (matrix(glide[2])[:3, 3] - matrix(glide[0])[:3, 3]) / 0.002
    twist = found['/multi_dof_joint_states'][1][1].twist[place('glide')].linear
    turned = matrix(glide[1])[:3, :3] @ [twist.x, twist.y, twist.z]
    assert np.abs(step - turned).max() < DIFFERENCES
    assert first.header.stamp.sec == 0


def test_a_bag_folder_has_the_metadata_that_rosbag2_wants(log, tmp_path):
    log.to_mcap(tmp_path / 'bag')
    with Reader(tmp_path / 'bag') as reader:
        assert reader.duration == pytest.approx(log.time[-1] * 1e9, abs=2)
        kinds = {each.topic: each.msgtype for each in reader.connections}
        qos = {each.topic: each.ext.offered_qos_profiles[0] for each in reader.connections}
        assert kinds['/tf'] == 'tf2_msgs/msg/TFMessage'
        assert kinds['/joint_states'] == 'sensor_msgs/msg/JointState'
        assert qos['/tf_static'].durability.name == 'TRANSIENT_LOCAL'
        store = get_typestore(Stores.ROS2_HUMBLE)   # the messages are the same in all of them
        positions = [store.deserialize_cdr(data, connection.msgtype).position
                     for connection, _, data in reader.messages()
                     if connection.topic == '/joint_states']
    assert np.array_equal(positions, log.q)
    with pytest.raises(ccd.ClosedChainError, match='there already.*bag.mcap'):
        log.to_mcap(tmp_path / 'bag')
    log.to_mcap(tmp_path / 'bag.mcap')
    log.to_mcap(tmp_path / 'bag.mcap')   # a file is written over, as other files are
    assert sorted(path.name for path in tmp_path.iterdir()) == ['bag', 'bag.mcap']


# --- figures -----------------------------------------------------------------------------------
def test_a_figure_is_a_real_picture(log, tmp_path):
    log.plot(tmp_path / 'run.png')
    with Image.open(tmp_path / 'run.png') as picture:
        picture.load()
        assert picture.format == 'PNG' and min(picture.size) > 500
        pixels = np.asarray(picture.convert('RGB')).reshape(-1, 3)
    is_white = (pixels == 255).all(axis=1).mean()
    assert 0.5 < is_white < 0.98
    assert len(np.unique(pixels, axis=0)) > 200


@pytest.mark.parametrize('which, labels', [
    ('log', ['crank', 'rocker', 'kinetic', 'dissipated', 'Largest loop error',
             'cut coupler_rocker']),
    ('all_kinds', ['push', 'fly:z', 'ball, turned by', 'work put in']),
    ('torn', ['coupler:x', 'cut coupler'])])
def test_a_figure_names_what_it_shows(which, labels, request, tmp_path):
    log = request.getfixturevalue(which)
    log.plot(tmp_path / 'run.svg')
    text = (tmp_path / 'run.svg').read_text(encoding='utf-8')
    for label in labels:
        assert f'<!-- {label} -->' in text, label
    log.plot(tmp_path / 'again.svg')
    assert (tmp_path / 'again.svg').read_text(encoding='utf-8') == text


def test_a_figure_has_at_most_so_many_lines(tmp_path):
    sim = ccd.Simulation(ccd.load('figure'))
    sim.run(0.01)
    sim.log.plot(tmp_path / 'run.svg')
    hidden = len(plots._grouped(sim.log)[0]) - plots.MOST_LINES
    assert hidden > 0
    assert f'<!-- and {hidden} that move less -->' in (tmp_path / 'run.svg').read_text()


def test_a_single_sample_can_be_drawn(tmp_path):
    log = ccd.Simulation(ccd.load('four_bar')).log
    log.plot(tmp_path / 'run.pdf')
    assert (tmp_path / 'run.pdf').read_bytes().startswith(b'%PDF')
    log.record(tmp_path / 'run.gif', size=(80, 60))
    with Image.open(tmp_path / 'run.gif') as picture:
        assert picture.size == (80, 60)


# --- animations --------------------------------------------------------------------------------
def has(picture, colour):
    return bool((np.asarray(picture.convert('RGB')) == colour).all(axis=-1).any())


def test_a_gif_shows_the_run_with_open_and_closed_loops(tmp_path):
    sim = ccd.Simulation(ccd.load('four_bar'), dt=2e-3)
    sim.run(0.4)
    sim.cut('coupler_rocker')
    sim.run(0.4)
    shares = []
    assert sim.log.record(tmp_path / 'run.gif', size=(320, 240), progress=shares.append) == []
    with Image.open(tmp_path / 'run.gif') as film:
        assert (film.n_frames, film.size) == (21, (320, 240))   # 0.8 s at 25 Hz, both ends
        assert (film.info['duration'], film.info['loop']) == (40, 0)
        frames = []
        for number in range(film.n_frames):
            film.seek(number)
            frames.append(film.convert('RGB'))
    assert [has(frame, CLOSED) for frame in frames] == [True] * 10 + [False] * 11
    assert [has(frame, OPEN) for frame in frames] == [False] * 10 + [True] * 11
    moved = [np.abs(np.asarray(a, dtype=int) - np.asarray(b, dtype=int)).max(axis=-1) > 30
             for a, b in zip(frames, frames[1:])]
    assert all(each.any() for each in moved)
    assert max(each.mean() for each in moved) < 0.1   # the background stands still
    assert shares[-1] == 1.0 and shares == sorted(shares)


@pytest.mark.parametrize('fps, speed, frames, milliseconds', [
    (25, 0.5, 11, 40), (30, 1.0, 7, 30), (10, 1.0, 3, 100), (1000, 1.0, 11, 20)])
def test_a_gif_keeps_time(fps, speed, frames, milliseconds, tmp_path):
    sim = ccd.Simulation(ccd.load('pendulum'), [0.5])
    sim.run(0.2)
    sim.log.record(tmp_path / 'run.gif', fps=fps, speed=speed, size=(64, 48))
    with Image.open(tmp_path / 'run.gif') as film:
        assert (film.n_frames, film.info['duration']) == (frames, milliseconds)


def boxes(tmp_path, view, red='0 0 0', green='0 0 0'):
    """Return the places (columns, rows) of the red and of the green pixels of two boxes."""
    robot = ccd.load(TWO_BOXES.format(red=red, green=green))
    animation.snapshot(robot, np.zeros(0), tmp_path / 'boxes.png', view=view)
    pixels = np.asarray(Image.open(tmp_path / 'boxes.png').convert('RGB')).astype(int)
    r, g, b = pixels[..., 0], pixels[..., 1], pixels[..., 2]
    return np.nonzero((r > 2 * g) & (r > 2 * b))[::-1], np.nonzero((g > 2 * r) & (g > 2 * b))[::-1]


@pytest.mark.parametrize('view, right, up', [('front', 'x', 'z'), ('side', 'y', 'z'),
                                             ('top', 'x', 'y'), ((0.0, 0.0), 'x', 'z')])
def test_views_look_from_where_they_say(view, right, up, tmp_path):
    place = {'x': '2 0 0', 'y': '0 2 0', 'z': '0 0 2'}
    red, green = boxes(tmp_path, view, green=place[right])
    assert green[0].min() > red[0].max()
    red, green = boxes(tmp_path, view, green=place[up])
    assert green[1].max() < red[1].min()   # rows count downwards


def test_what_is_near_hides_what_is_far(tmp_path):
    red, green = boxes(tmp_path, (0.0, 0.0), red='0 -2 0', green='0 2 0')
    assert red[0].size and not green[0].size
    _, green = boxes(tmp_path, (180.0, 0.0), red='0 -2 0', green='0 2 0')
    assert green[0].size


def test_links_without_visuals_are_sticks_and_meshes_are_told(tmp_path):
    robot = ccd.load(ALL_KINDS.replace(
        '<link name="c">', '<link name="c"> <visual> <geometry> <mesh filename="c.stl"/> '
        '</geometry> </visual>'))
    notes = animation.snapshot(robot, robot.neutral(), tmp_path / 'a.png')
    assert notes == ["The mesh of link 'c' is not drawn."]
    assert len(np.unique(np.asarray(Image.open(tmp_path / 'a.png')).reshape(-1, 3), axis=0)) > 100


@pytest.mark.skipif(shutil.which('ffmpeg') is None, reason='ffmpeg is not installed')
def test_an_mp4_is_written(log, tmp_path):
    log.record(tmp_path / 'run.mp4', size=(161, 121))
    assert (tmp_path / 'run.mp4').read_bytes()[4:8] == b'ftyp'


# --- what is refused ---------------------------------------------------------------------------
@pytest.mark.parametrize('call, message', [
    (lambda log, at: log.plot(at / 'run.docx'), r'End the name in \.png'),
    (lambda log, at: log.record(at / 'run.avi'), r'End the name in \.gif'),
    (lambda log, at: log.record(at / 'run.gif', fps=0), 'fps of an animation must be positive'),
    (lambda log, at: log.record(at / 'run.gif', speed=-1), 'speed of an animation'),
    (lambda log, at: log.record(at / 'run.gif', view='back'), 'front, side, top'),
    (lambda log, at: log.plot(at / 'none' / 'run.png'), 'there is no folder'),
    (lambda log, at: log.to_mcap(at / 'none' / 'run'), 'there is no folder'),
    (lambda log, at: log.to_csv(at), 'cannot be written: Is a directory'),
    (lambda log, at: log.to_npz(at / 'none' / 'run.npz'), 'cannot be written: No such file')])
def test_files_that_cannot_be_are_refused(call, message, log, tmp_path):
    with pytest.raises(ccd.ClosedChainError, match=message):
        call(log, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize('library, call', [
    ('matplotlib', lambda log, at: log.plot(at / 'run.png')),
    ('PIL', lambda log, at: log.record(at / 'run.gif')),
    ('rosbags', lambda log, at: log.to_mcap(at / 'run.mcap'))])
def test_a_missing_library_is_named_with_the_way_to_get_it(library, call, log, tmp_path,
                                                           monkeypatch):
    for name in [name for name in sys.modules if name.split('.')[0] == library]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ccd.ClosedChainError, match='pip install'):
        call(log, tmp_path)


def test_mp4_without_ffmpeg_suggests_a_gif(log, tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, 'which', lambda name: None)
    with pytest.raises(ccd.ClosedChainError, match=r'ffmpeg.*\.gif'):
        log.record(tmp_path / 'run.mp4')


def test_logging_loads_no_library_for_files():
    script = ('import sys, closed_chain_dynamics as ccd\n'
              'from closed_chain_dynamics import animation, mcap, plots\n'
              'sim = ccd.Simulation(ccd.load("pendulum")); sim.run(0.01); sim.log.q\n'
              'print(*{name.split(".")[0] for name in sys.modules})')
    done = subprocess.run([sys.executable, '-c', script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not set(LOUD) & set(done.stdout.split())
