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

"""Films out of pictures: GIF by Pillow, MP4 by ffmpeg."""

from collections.abc import Iterable
from itertools import chain
import subprocess
from typing import Any

from closed_chain_dynamics.errors import ClosedChainError
from closed_chain_dynamics.recording.colours import CLOSED_COLOUR, INK, OPEN_COLOUR
from closed_chain_dynamics.recording.log_files import Path
from closed_chain_dynamics.recording.picture import pillow

__all__ = ['write_gif', 'write_mp4']

EXACT_COLOURS = (
    CLOSED_COLOUR,
    OPEN_COLOUR,
    INK,
    (255, 255, 255),
)  # colours that every picture has exactly


def write_gif(frames: Iterable[Any], path: Path, milliseconds: int) -> None:
    """Write a GIF whose frames share one palette, so that what stands still costs nothing."""
    Image = pillow()[0]
    frames = list(frames)
    shown = frames[:: max(1, len(frames) // 6)]
    width, height = frames[0].size
    sheet = Image.new('RGB', (width, height * len(shown)))
    for k, frame in enumerate(shown):
        sheet.paste(frame, (0, k * height))
    palette = sheet.quantize(256 - len(EXACT_COLOURS), method=Image.Quantize.MEDIANCUT)
    # small dots would lose their colour to large surfaces
    palette.putpalette(
        palette.getpalette()[: 3 * (256 - len(EXACT_COLOURS))] + [*chain(*EXACT_COLOURS)]
    )
    frames = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    frames[0].save(
        path,
        format='GIF',
        save_all=True,
        append_images=frames[1:],
        duration=milliseconds,
        loop=0,
        optimize=False,
    )


def write_mp4(frames: Iterable[Any], path: Path, fps: float, size: tuple[int, int]) -> None:
    """Pipe the pictures through ffmpeg; sides are made even, as its pixel format wants."""
    command = [
        'ffmpeg',
        '-y',
        '-loglevel',
        'error',
        '-f',
        'rawvideo',
        '-pix_fmt',
        'rgb24',
        '-s',
        f'{size[0]}x{size[1]}',
        '-r',
        f'{fps:g}',
        '-i',
        '-',
        '-an',
        '-vf',
        'pad=ceil(iw/2)*2:ceil(ih/2)*2',
        '-pix_fmt',
        'yuv420p',
        '-movflags',
        '+faststart',
        str(path),
    ]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as ffmpeg:
        assert ffmpeg.stdin is not None  # a pipe, as asked for
        try:
            for frame in frames:
                ffmpeg.stdin.write(frame.tobytes())
        except BrokenPipeError:
            pass  # what ffmpeg says about it comes below
        complaint = ffmpeg.communicate()[1].decode(errors='replace').strip()
    if ffmpeg.returncode:
        raise ClosedChainError(
            f'ffmpeg could not write the animation: {complaint}',
            file=path,
            repair='Try a GIF: end the name in .gif.',
        )
