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

"""Animations of a log, as GIF or MP4, and single pictures; drawn without a display."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path as File
import shutil
from typing import Any

import numpy as np

from closed_chain_dynamics.arrays import Array
from closed_chain_dynamics.errors import ClosedChainError, StateError
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.recording.camera import FILM_SIZE, View, fit_camera
from closed_chain_dynamics.recording.colours import (
    CLOSED_COLOUR,
    EVENT_COLOURS,
    INK,
    OPEN_COLOUR,
    Colour,
)
from closed_chain_dynamics.recording.film_files import write_gif, write_mp4
from closed_chain_dynamics.recording.log import Log
from closed_chain_dynamics.recording.log_files import Path, check_folder, writing
from closed_chain_dynamics.recording.picture import Dot, Painter, pillow
from closed_chain_dynamics.recording.shapes import Triangles, triangles_of
from closed_chain_dynamics.recording.terminal import Progress
from closed_chain_dynamics.recording.tracks import End, Track, link_tracks, loop_tracks

__all__ = ['check_animation', 'framing', 'record', 'snapshot']


ANIMATION_FORMATS = ('.gif', '.mp4')
SURROUNDINGS_SHARE = 0.4  # how much of fixed surroundings is shown, share of what moves
STAND_SHARE = 2.0  # the same downwards: posts are seen to stand
CAPTION_TIME = 1.0  # how long an event is named [s]
VIEWS = {'front': (0.0, 8.0), 'side': (90.0, 8.0), 'top': (0.0, 89.0), 'corner': (40.0, 22.0)}


def check_animation(path: Path) -> None:
    """Refuse, before any work, a path that cannot be written to or a program that is missing."""
    pillow()
    suffix = File(path).suffix.lower()
    if suffix not in ANIMATION_FORMATS:
        raise ClosedChainError(
            'an animation of this kind cannot be written',
            file=path,
            repair=f'End the name in {" or ".join(ANIMATION_FORMATS)}.',
        )
    if suffix == '.mp4' and shutil.which('ffmpeg') is None:
        raise ClosedChainError(
            'writing MP4 needs the program ffmpeg, which is not installed',
            file=path,
            repair='Install it, or end the name in .gif.',
        )
    check_folder(path)


def record(
    log: Log,
    path: Path,
    *,
    fps: float = 25,
    size: tuple[int, int] = FILM_SIZE,
    view: View = None,
    speed: float = 1.0,
    progress: Progress | None = None,
) -> list[str]:
    """
    Write an animation of a log, the kind by its name: .gif or .mp4; return notes.

    `fps`: pictures per second, in a GIF the nearest rate that it can have; `size`: width and
    height [pixels]; `view`: (azimuth, elevation) of the eye [deg], or one of `VIEWS`; `speed`:
    below 1 is slow motion; `progress(share)` is told how far it is. The notes, plain sentences,
    say what could not be drawn.
    """
    check_animation(path)
    _check_numbers(fps=fps, speed=speed, width=size[0], height=size[1])
    if not len(log):
        raise ClosedChainError(
            'there is nothing to show: the log has no samples',
            file=path,
            repair='Let the simulation log: log_every=1.',
        )
    gif = File(path).suffix.lower() == '.gif'
    hundredths = max(2, round(100.0 / fps))  # a GIF counts time in hundredths of a second
    fps = 100.0 / hundredths if gif else fps
    film = _Film(log, size, view, fps / speed)
    frames = film.frames(progress)
    with writing(path):
        if gif:
            write_gif(frames, path, 10 * hundredths)
        else:
            write_mp4(frames, path, fps, size)
    return film.notes


def snapshot(
    robot: Mechanism, q: Array, path: Path, *, size: tuple[int, int] = FILM_SIZE, view: View = None
) -> list[str]:
    """Write a picture (.png) of a mechanism in one pose; return notes, as `record` does."""
    pillow()
    check_folder(path)
    _check_numbers(width=size[0], height=size[1])
    triangles = triangles_of(robot)
    tracks = link_tracks(robot, [robot.vector(q, robot.nq, 'q')])
    rotations, positions = _stacked(robot, tracks)
    painter = _painter(robot, triangles, rotations, positions, size, view)
    with writing(path):
        dots = _dots(loop_tracks(robot, tracks), 0)
        painter.paint(rotations[0], positions[0], dots).save(path)
    return triangles.notes


def _check_numbers(**numbers: float) -> None:
    for name, value in numbers.items():
        if not (np.isfinite(value) and value > 0):
            raise StateError(f'the {name} of an animation must be positive, not {value!r}')


def _stacked(robot: Mechanism, tracks: Mapping[str, Track]) -> Track:
    """Return rotations (samples, links, 3, 3) and positions (samples, links, 3)."""
    rotations, positions = zip(*(tracks[link] for link in robot.link_names))
    return np.stack(rotations, axis=1), np.stack(positions, axis=1)


def framing(
    robot: Mechanism, triangles: Triangles, rotations: Array, positions: Array
) -> tuple[Array, float]:
    """Return the points that show a motion well, (n, 3), and the height of the ground."""
    points = {}
    for link in np.unique(triangles.links):
        mine = triangles.corners[triangles.links == link].reshape(-1, 3)
        low, high = mine.min(axis=0), mine.max(axis=0)
        box = np.array(
            [
                [x, y, z]
                for x in (low[0], high[0])
                for y in (low[1], high[1])
                for z in (low[2], high[2])
            ]
        )
        points[link] = (
            box @ rotations[:, link].transpose(0, 2, 1) + positions[:, None, link]
        ).reshape(-1, 3)
    if not points:
        raise ClosedChainError(
            'there is nothing to draw', where=robot.name, repair='Give the links <visual> shapes.'
        )
    every = np.concatenate(list(points.values()))
    is_fixed = {link: robot.link_frame(robot.link_names[link])[0] == 0 for link in points}
    moving = [each for link, each in points.items() if not is_fixed[link]]
    if moving:
        # a wide floor or wall must not make small what moves on it
        low, high = np.min(np.vstack(moving), axis=0), np.max(np.vstack(moving), axis=0)
        width = np.max(high - low)
        room = width * np.array([SURROUNDINGS_SHARE, SURROUNDINGS_SHARE, STAND_SHARE])
        every = every.clip(low - room, high + SURROUNDINGS_SHARE * width)
    # nothing stands or swings below the ground
    ground = min(each[:, 2].min() for each in points.values())
    return every, float(ground)


def _painter(
    robot: Mechanism,
    triangles: Triangles,
    rotations: Array,
    positions: Array,
    size: tuple[int, int],
    view: View,
) -> Painter:
    """Return a Painter that has the whole motion in its picture."""
    every, ground = framing(robot, triangles, rotations, positions)
    if isinstance(view, str):
        if view not in VIEWS:
            raise StateError(
                f'unknown view {view!r}',
                where=robot.name,
                repair=f'Choose one of {", ".join(VIEWS)}, or two angles [deg].',
            )
        view = VIEWS[view]
    return Painter(triangles, fit_camera(every, ground, view, size), robot.name)


def _dots(ends: Sequence[End], sample: int) -> list[Dot]:
    """Return the dots of joints: one where a loop is closed, one at either end where open."""
    dots: list[Dot] = []
    for closed, on_parent, on_child in ends:
        dots += (
            [(on_child[sample], CLOSED_COLOUR)]
            if closed
            else [(on_parent[sample], OPEN_COLOUR), (on_child[sample], OPEN_COLOUR)]
        )
    return sorted(
        dots, key=lambda dot: dot[1] == CLOSED_COLOUR
    )  # where both are, closed is to be seen


class _Film:
    """The pictures of a log at a steady rate of simulated time."""

    def __init__(self, log: Log, size: tuple[int, int], view: View, rate: float) -> None:
        time = log.time
        count = int(np.floor((time[-1] - time[0]) * rate + 1e-6)) + 1
        self.times = time[0] + np.arange(count) / rate
        # the last sample of an instant is that after its events; times carry rounding
        samples = np.searchsorted(time, self.times + 1e-9, side='right') - 1
        self.events = log.events
        self.rotations: list[Array] = []
        self.positions: list[Array] = []
        self.dots: list[list[Dot]] = []
        for segment, span in log.spans():
            mine = samples[(samples >= span.start) & (samples < span.stop)] - span.start
            if not mine.size:
                continue
            robot = segment.mechanism()
            tracks = link_tracks(robot, segment.get('q')[mine])
            ends = loop_tracks(robot, tracks)
            rotations, positions = _stacked(robot, tracks)
            self.rotations += list(rotations)
            self.positions += list(positions)
            self.dots += [_dots(ends, k) for k in range(len(mine))]
        triangles = triangles_of(robot)
        self.notes = triangles.notes
        self.painter = _painter(
            robot, triangles, np.array(self.rotations), np.array(self.positions), size, view
        )

    def frames(self, progress: Progress | None) -> Iterator[Any]:
        """Yield the pictures."""
        for k, time in enumerate(self.times):
            yield self.painter.paint(
                self.rotations[k], self.positions[k], self.dots[k], time, self._caption(time)
            )
            if progress:
                progress((k + 1) / len(self.times))

    def _caption(self, time: float) -> tuple[str, Colour]:
        """Return the name of what has just happened, and its colour."""
        recent = [
            event
            for event in self.events
            if event.time <= time + 1e-9 and time - event.time < CAPTION_TIME
        ]
        if not recent:
            return '', INK
        text = ', '.join(f'{event.kind} {event.name}' for event in recent[-2:])
        return text, EVENT_COLOURS.get(recent[-1].kind, INK)
