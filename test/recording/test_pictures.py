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

"""Figures and animations of a log: real files that show what happened."""

import shutil

from helpers.logged_runs import ALL_KINDS
import numpy as np
from PIL import Image
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.recording import animation, panels, plots
from closed_chain_dynamics.recording.colours import CLOSED_COLOUR, OPEN_COLOUR
from closed_chain_dynamics.recording.shapes import triangles_of
from closed_chain_dynamics.recording.tracks import link_tracks

TWO_BOXES = """<robot name="boxes"> <link name="world"/>
  <link name="red"> <visual> <origin xyz="{red}"/> <geometry> <box size="0.4 0.4 0.4"/>
    </geometry> <material name="r"> <color rgba="1 0 0 1"/> </material> </visual> </link>
  <link name="green"> <visual> <origin xyz="{green}"/> <geometry> <box size="0.2 0.2 0.2"/>
    </geometry> <material name="g"> <color rgba="0 1 0 1"/> </material> </visual> </link>
  <joint name="one" type="fixed"> <parent link="world"/> <child link="red"/> </joint>
  <joint name="two" type="fixed"> <parent link="world"/> <child link="green"/> </joint>
</robot>"""


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


@pytest.mark.parametrize(
    'which, labels',
    [
        (
            'log',
            [
                'crank',
                'rocker',
                'kinetic',
                'dissipated',
                'Largest loop error',
                'cut coupler_rocker',
            ],
        ),
        ('all_kinds', ['push', 'fly:z', 'ball, turned by', 'work put in']),
        ('torn', ['coupler:x', 'cut coupler']),
    ],
)
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
    hidden = len(plots._grouped(sim.log)[0]) - panels.MOST_LINES
    assert hidden > 0
    assert f'<!-- and {hidden} with less motion -->' in (tmp_path / 'run.svg').read_text()


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
        assert (film.n_frames, film.size) == (21, (320, 240))  # 0.8 s at 25 Hz, both ends
        assert (film.info['duration'], film.info['loop']) == (40, 0)
        frames = []
        for number in range(film.n_frames):
            film.seek(number)
            frames.append(film.convert('RGB'))
    assert [has(frame, CLOSED_COLOUR) for frame in frames] == [True] * 10 + [False] * 11
    assert [has(frame, OPEN_COLOUR) for frame in frames] == [False] * 10 + [True] * 11
    moved = [
        np.abs(np.asarray(a, dtype=int) - np.asarray(b, dtype=int)).max(axis=-1) > 30
        for a, b in zip(frames, frames[1:])
    ]
    assert all(each.any() for each in moved)
    assert max(each.mean() for each in moved) < 0.1  # the background stands still
    assert shares[-1] == 1.0 and shares == sorted(shares)


@pytest.mark.parametrize(
    'fps, speed, frames, milliseconds',
    [(25, 0.5, 11, 40), (30, 1.0, 7, 30), (10, 1.0, 3, 100), (1000, 1.0, 11, 20)],
)
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


@pytest.mark.parametrize(
    'view, right, up',
    [('front', 'x', 'z'), ('side', 'y', 'z'), ('top', 'x', 'y'), ((0.0, 0.0), 'x', 'z')],
)
def test_views_look_from_where_they_say(view, right, up, tmp_path):
    place = {'x': '2 0 0', 'y': '0 2 0', 'z': '0 0 2'}
    red, green = boxes(tmp_path, view, green=place[right])
    assert green[0].min() > red[0].max()
    red, green = boxes(tmp_path, view, green=place[up])
    assert green[1].max() < red[1].min()  # rows count downwards


def test_a_handstand_on_the_bar_is_shown_down_to_the_feet_of_the_posts():
    robot = ccd.load('high_bar')
    q = ccd.assemble(robot)
    q[:3] += (0.0, 0.0, 2.2)  # above the bar, as the parts that move are then
    triangles, tracks = triangles_of(robot), link_tracks(robot, [q])
    rotations, positions = (
        np.stack(each, axis=1) for each in zip(*(tracks[link] for link in robot.link_names))
    )
    points, ground = animation.framing(robot, triangles, rotations, positions)
    assert positions[0, :, 2].max() > 4.0 and ground < 0.01
    assert points[:, 2].min() == ground


def test_what_is_near_hides_what_is_far(tmp_path):
    red, green = boxes(tmp_path, (0.0, 0.0), red='0 -2 0', green='0 2 0')
    assert red[0].size and not green[0].size
    _, green = boxes(tmp_path, (180.0, 0.0), red='0 -2 0', green='0 2 0')
    assert green[0].size


def test_links_without_visuals_are_sticks_and_meshes_are_told(tmp_path):
    robot = ccd.load(
        ALL_KINDS.replace(
            '<link name="c">',
            '<link name="c"> <visual> <geometry> <mesh filename="c.stl"/> </geometry> </visual>',
        )
    )
    notes = animation.snapshot(robot, robot.neutral(), tmp_path / 'a.png')
    assert notes == ["The mesh of link 'c' is not drawn."]
    assert len(np.unique(np.asarray(Image.open(tmp_path / 'a.png')).reshape(-1, 3), axis=0)) > 100


@pytest.mark.skipif(shutil.which('ffmpeg') is None, reason='ffmpeg is not installed')
def test_an_mp4_is_written(log, tmp_path):
    log.record(tmp_path / 'run.mp4', size=(161, 121))
    assert (tmp_path / 'run.mp4').read_bytes()[4:8] == b'ftyp'


def test_mp4_without_ffmpeg_suggests_a_gif(log, tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, 'which', lambda name: None)
    with pytest.raises(ccd.ClosedChainError, match=r'ffmpeg.*\.gif'):
        log.record(tmp_path / 'run.mp4')
