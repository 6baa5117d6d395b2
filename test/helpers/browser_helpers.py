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

"""A real browser for tests: Debian's Chromium without a window, driven by Playwright."""

from contextlib import contextmanager
import shutil
import time
from urllib.parse import urlsplit

import pytest

playwright = pytest.importorskip('playwright.sync_api', reason='pip install playwright')
pytest.importorskip('viser', reason='the view needs viser: pip install viser')

BROWSERS = ('chromium', 'chromium-browser', 'google-chrome')
LOCAL = {'127.0.0.1', 'localhost'}
PATIENCE = 300.0  # only what is broken takes as long, on a machine however busy [s]


@pytest.fixture(scope='module')
def chromium():
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        pytest.skip('no Chromium here: apt-get install chromium')
    with playwright.sync_playwright() as tools:
        browser = tools.chromium.launch(
            executable_path=program,
            args=['--no-sandbox', '--use-angle=swiftshader', '--enable-unsafe-swiftshader'],
            timeout=1000.0 * PATIENCE,
        )
        yield browser
        browser.close()


@contextmanager
def opened(chromium, address):
    """Open a page that must not ask any other machine for anything."""
    page = chromium.new_page(viewport={'width': 1000, 'height': 640})
    page.set_default_timeout(1000.0 * PATIENCE)
    asked = []
    page.on('request', lambda request: asked.append(request.url))
    page.on('websocket', lambda socket: asked.append(socket.url))
    try:
        page.goto(address)
        page.get_by_role('tab', name='Move').wait_for()
        yield page
        hosts = {urlsplit(url).hostname for url in asked if not url.startswith(('data:', 'blob:'))}
        assert hosts and hosts <= LOCAL
    finally:
        page.close()


def wait_for(fact, what):
    """Wait until something is so."""
    end = time.monotonic() + PATIENCE
    while not fact():
        assert time.monotonic() < end, f'waited in vain until {what}'
        time.sleep(0.05)


def drag_thumb(page, joint, share):
    """Drag the thumb of a joint's slider with the mouse to a share of its range."""
    row = page.locator('.mantine-Slider-root').nth(joint)
    thumb = row.get_by_role('slider')
    page.get_by_text('loop error').first.wait_for()  # a line above the sliders, which move down
    thumb.hover()  # which waits until it stands still
    at, track = thumb.bounding_box(), row.bounding_box()
    y = at['y'] + 0.5 * at['height']
    page.mouse.move(at['x'] + 0.5 * at['width'], y)
    page.mouse.down()
    page.mouse.move(track['x'] + share * track['width'], y, steps=4)
    page.mouse.up()
