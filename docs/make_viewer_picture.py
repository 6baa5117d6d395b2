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
Makes docs/pictures/viewer.png: the figure on the swing lets a hand go, in the browser view.

Needs viser, playwright and Chromium. Time is told to the simulation, not taken from the clock,
so that a slow machine gets the same picture.
"""

from pathlib import Path
import shutil
import time

import numpy as np
from playwright.sync_api import sync_playwright

import closed_chain_dynamics as ccd
from closed_chain_dynamics.viewer import SimulationSource, open_view
from closed_chain_dynamics.viewer.observation import observe

PICTURE = Path(__file__).resolve().parent / 'pictures' / 'viewer.png'
TILT = 0.45  # of the swing at the start [rad]
LET_GO, TAKEN = 3.2, 5.0  # [s]
RENDERING = 8.0  # what a machine without graphics card may take for the last picture [s]


def play(source, until):
    """Let a simulation run to a time, with the samples that plots show."""
    source.paused = False
    while source.sim.time < until:
        source.advance(1.0 / 30.0)
        source.noticed(observe(source.snapshot()))
    source.paused = True


def main():
    """Make the picture."""
    robot = ccd.load('swing')
    q = ccd.assemble(robot, {'left_ceiling': [0.0, np.sin(0.5 * TILT), 0.0, np.cos(0.5 * TILT)]})
    source = SimulationSource(ccd.Simulation(robot, q, log_every=0))
    source.hold = source.paused = True
    view = open_view(source)
    with sync_playwright() as tools:
        browser = tools.chromium.launch(
            executable_path=shutil.which('chromium'),
            args=['--no-sandbox', '--use-angle=swiftshader', '--enable-unsafe-swiftshader'],
        )
        page = browser.new_page(viewport={'width': 1280, 'height': 800})
        page.goto(view.address)
        page.get_by_role('tab', name='Plots').click()
        page.locator('.mantine-Notification-closeButton').click()  # there is no graphics card
        view.do(play, source, LET_GO)
        view.do(source.cut, 'left_hand')
        view.do(play, source, TAKEN)
        time.sleep(RENDERING)
        page.screenshot(path=PICTURE)
        browser.close()
    view.stop()


if __name__ == '__main__':
    main()
