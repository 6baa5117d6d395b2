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
