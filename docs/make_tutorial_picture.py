#!/usr/bin/env python3
"""Draws the mechanism of the tutorial anew, from the file that stands on its page."""

from pathlib import Path
import re

import closed_chain_dynamics as ccd
from closed_chain_dynamics.recording.animation import snapshot

DOCS = Path(__file__).resolve().parent


def main():
    """Write docs/pictures/lift.png."""
    page = (DOCS / 'pages' / 'tutorial.md').read_text(encoding='utf-8')
    robot = ccd.load(re.search(r'```xml title="lift.urdf"\n(.*?)```', page, re.DOTALL)[1])
    snapshot(
        robot,
        ccd.assemble(robot, {'motor': 0.7}),
        DOCS / 'pictures' / 'lift.png',
        size=(480, 480),
        view=(-25.0, 14.0),
    )


if __name__ == '__main__':
    main()
