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

"""MCAP files of a log, read by a library that did not write them."""

import json

from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory
import numpy as np
import pytest
from rosbags.rosbag2 import Reader
from rosbags.typesys import Stores, get_typestore

import closed_chain_dynamics as ccd

ROUNDING = 1e-12  # what a chain of a few rotations loses
DIFFERENCES = 1e-5  # rates by central differences over 1 ms


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
        assert np.array_equal(
            [each.data for _, each in found[f'/energy/{name}']], getattr(log, name)
        ), name
    assert np.array_equal([each.data for _, each in found['/loop_error']], log.loop_error)
    events = [json.loads(message.data) for _, message in found['/contact/events']]
    assert [(each['kind'], each['name'], each['time']) for each in events] == [
        (event.kind, event.name, event.time) for event in log.events
    ]
    assert events[1]['impulse'] == log.events[1].impulse.tolist()
    text = found['/robot_description'][0][1].data
    assert ccd.load(text).description == log.robot.description


def matrix(transform):
    """Return a transform message as a homogeneous matrix."""
    r, p = transform.rotation, transform.translation
    x, y, z, w = r.x, r.y, r.z, r.w
    X = np.eye(4)
    X[:3, :3] = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
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
    assert len(found['/tf']) == len(np.unique(log.time))  # one per instant, that after it
    for segment, samples in log.spans():
        robot, sample = segment.mechanism(), samples.stop - 1
        stamp = round(log.time[sample] * 1e9)
        (moving,) = (message.transforms for time, message in found['/tf'] if time == stamp)
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
        q[:3], abs=ROUNDING
    )
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
        store = get_typestore(Stores.ROS2_HUMBLE)  # the messages are the same in all of them
        positions = [
            store.deserialize_cdr(data, connection.msgtype).position
            for connection, _, data in reader.messages()
            if connection.topic == '/joint_states'
        ]
    assert np.array_equal(positions, log.q)
    with pytest.raises(ccd.ClosedChainError, match='already exists.*bag.mcap'):
        log.to_mcap(tmp_path / 'bag')
    log.to_mcap(tmp_path / 'bag.mcap')
    log.to_mcap(tmp_path / 'bag.mcap')  # a file is written over, as other files are
    assert sorted(path.name for path in tmp_path.iterdir()) == ['bag', 'bag.mcap']
