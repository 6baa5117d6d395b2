#!/usr/bin/env python3
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

"""
Makes the small pictures of the examples anew, into docs/pictures/examples.

``python docs/make_thumbnails.py`` runs every example, which checks itself, and shrinks its
picture; ``python docs/make_thumbnails.py 13 16`` does so for these only.
"""

from pathlib import Path
import re
import subprocess
import sys
import tempfile

from PIL import Image, ImageSequence

DOCS = Path(__file__).resolve().parent
TARGET = DOCS / 'pictures' / 'examples'
WIDTH = 400  # of a picture [pixels]
MOVING = ('13', '15', '16')  # those that stay animations
FILM_WIDTH = 290
COMMON, RARE = 128, 64  # colours of large surfaces, and of small parts


def shrink(image, width):
    """Return a picture in colour, of a width."""
    return image.convert('RGB').resize(
        (width, round(image.height * width / image.width)), Image.Resampling.LANCZOS
    )


def main(wanted):
    """Run the examples whose numbers are wanted, or all, and write their thumbnails."""
    TARGET.mkdir(parents=True, exist_ok=True)
    for example in sorted((DOCS.parent / 'examples').glob('[0-9][0-9]_*.py')):
        if wanted and example.name[:2] not in wanted:
            continue
        suffix = re.search(rf'{example.stem}(\.\w+)', example.read_text(encoding='utf-8'))[1]
        with tempfile.TemporaryDirectory() as folder:
            picture = Path(folder) / f'{example.stem}{suffix}'
            subprocess.run(
                [sys.executable, example, picture], check=True, stdout=subprocess.DEVNULL
            )
            with Image.open(picture) as image:
                write(image, example)


def write(image, example):
    """Write one thumbnail: an animation where it is one of those, else a picture."""
    frames = [frame.copy() for frame in ImageSequence.Iterator(image)]
    if example.name[:2] not in MOVING:
        # what moves is in full motion a third of the way
        shrink(frames[len(frames) // 3], WIDTH).save(TARGET / f'{example.stem}.png', optimize=True)
        return
    duration = image.info['duration']
    frames = [shrink(frame, FILM_WIDTH) for frame in frames]
    palette, middle = Image.new('P', (1, 1)), frames[len(frames) // 2]
    palette.putpalette(
        middle.quantize(COMMON).getpalette()[: 3 * COMMON]
        + middle.quantize(RARE, method=Image.Quantize.MAXCOVERAGE).getpalette()[: 3 * RARE]
    )
    frames = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    frames[0].save(
        TARGET / f'{example.stem}.gif',
        save_all=True,
        append_images=frames[1:],
        duration=duration,
        loop=0,
        optimize=True,
    )


if __name__ == '__main__':
    main(sys.argv[1:])
