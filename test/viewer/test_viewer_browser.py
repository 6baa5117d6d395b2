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

"""The browser view in a real browser: a headless Chromium that clicks, drags and looks."""

from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from xml.sax.saxutils import quoteattr

from helpers.browser_helpers import PATIENCE, chromium, drag_thumb, opened, wait_for
import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics import viewer
from closed_chain_dynamics.model import library

__all__ = ['chromium']  # a fixture: pytest finds it by its name here

CLOSED_LOOP = 1e-9  # what is asked of a pose that was dragged [m or rad]
SLIDER_STEP = 1e-3  # sliders show no more digits
FAR = 0.1  # of the crank: then the other joints have moved, too [rad]
APART = 0.2  # after that time the ends of a loop are far from each other [s]
CHARTS = """() => Object.values(window.__viserTestpoints.uplots ?? {}).map(each => [
    each.chart.root.querySelector('.u-title').textContent,
    each.chart.data.map(column => Array.from(column))])"""  # titles and columns


# The page is busy for a while, so that messages wait; then, before it looks at them, a key is
# pressed on the first slider.
PRESS_LATER = """() => { setTimeout(() => {
    const end = performance.now() + 1000;
    while (performance.now() < end);
    const key = new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true});
    document.querySelector('[role=slider]').dispatchEvent(key);
}, 0); }"""


@contextmanager
def shown(chromium, source):
    """Open a view of a source, and a page on it."""
    view = viewer.open_view(source, port=0)
    try:
        with opened(chromium, view.address) as page:
            page.view_says = lambda question: answer_of(view, question)
            yield page
    finally:
        view.stop()


def answer_of(view, question):
    """Return what a function gives in the thread of the view, where nothing else moves."""
    answers = SimpleQueue()
    view.do(lambda: answers.put(question()))
    return answers.get(timeout=PATIENCE)


def sliders_show(page, q):
    """Return whether the sliders stand at these angles, whole turns aside."""
    values = [each.get_attribute('aria-valuenow') for each in page.get_by_role('slider').all()]
    away = np.array(values, dtype=float) - q
    return np.all(np.abs((away + np.pi) % (2.0 * np.pi) - np.pi) < SLIDER_STEP)


def test_loops_of_a_running_simulation_open_and_close_at_a_button(chromium, tmp_path):
    robot = ccd.load('four_bar')
    q = ccd.assemble(robot, {'crank': 1.0})
    source = viewer.SimulationSource(
        ccd.Simulation(robot, q, log_every=0, limits=False), {'crank': 0.3}
    )
    with shown(chromium, source) as page:
        wait_for(lambda: source.sim.time > 0.0, 'the simulation runs')

        page.get_by_role('tab', name='Plots').click()
        wait_for(
            lambda: [len(columns[0]) > 5 for _, columns in page.evaluate(CHARTS)] == [True] * 3,
            'all three plots have data',
        )
        energy, error, torques = (columns for _, columns in sorted(page.evaluate(CHARTS)))
        assert torques[1] == [0.3] * len(torques[0])
        assert np.ptp(energy[1]) > 0.0 and np.all(np.array(error[1]) < np.log10(CLOSED_LOOP))

        page.get_by_role('tab', name='Loops').click()
        page.get_by_role('button', name='Cut coupler_rocker').click()
        wait_for(lambda: source.sim.events, 'the loop is open')
        assert page.view_says(
            lambda: (
                source.sim.events[0].kind,
                source.sim.mobility(),
                source.robot.is_connected('coupler_rocker'),
            )
        ) == ('cut', 3, False)
        cut_at = source.sim.events[0].time
        wait_for(lambda: source.sim.time > cut_at + APART, 'its ends have gone apart')
        page.get_by_role('button', name='Connect coupler_rocker').click()
        page.get_by_text('more than the 0.02 m').wait_for()
        page.get_by_label('gap that connect closes').fill('3')
        wait_for(lambda: source.gap == 3.0, 'the gap is taken over')
        page.get_by_role('button', name='Connect coupler_rocker').click()
        page.get_by_role('cell', name='closed').wait_for()
        assert page.view_says(
            lambda: (
                [each.kind for each in source.sim.events if each.name == 'coupler_rocker'][1],
                source.robot.is_connected('coupler_rocker'),
            )
        ) == ('connect', True)
        assert page.view_says(source.sim.loop_error) < CLOSED_LOOP and not source.paused

        page.get_by_role('tab', name='Move').click()
        page.get_by_role('button', name='Reset').click()
        wait_for(lambda: not source.sim.events, 'it is at the start again')
        page.get_by_role('button', name='Pause').click()
        page.get_by_role('button', name='Go on').wait_for()
        before = page.view_says(lambda: source.sim.time)
        page.get_by_role('button', name='Step').click()
        wait_for(lambda: source.sim.time > before, 'it has made a step')
        assert page.view_says(lambda: source.sim.time) == pytest.approx(before + source.sim.dt)

        picture = tmp_path / 'view.png'
        page.screenshot(path=picture)
        assert picture.stat().st_size > 10_000


def test_a_slider_moves_the_other_joints_along_the_loop(chromium):
    robot = ccd.load('four_bar')
    source = viewer.ModelSource(robot, ccd.assemble(robot, {'crank': 1.0}))
    before, rocker = source.q.copy(), robot.joint_names.index('rocker')
    with shown(chromium, source) as page:
        drag_thumb(page, 0, 0.7)
        # the first news of the thumb may be that it was touched, which moves it by a pixel
        wait_for(
            lambda: page.view_says(lambda: abs(source.q[0] - before[0])) > FAR,
            'the crank has moved',
        )
        q = page.view_says(lambda: source.q.copy())
        assert np.all(np.abs(q - before) > 1e-2), 'no joint of a four-bar moves alone'
        assert max(max(gap) for gap in robot.loop_gaps(q).values()) < CLOSED_LOOP
        # the thumb may still be on its way: sliders follow where the joints are now
        wait_for(
            lambda: sliders_show(page, page.view_says(lambda: source.q.copy())),
            'the sliders of the other joints have followed',
        )

        drag_thumb(page, rocker, 1.0)  # to 2.6 rad, where the coupler does not reach
        page.get_by_text('stays open').wait_for()
        q = page.view_says(lambda: source.q.copy())
        assert max(max(gap) for gap in robot.loop_gaps(q).values()) < CLOSED_LOOP
        assert q[rocker] < 2.5
        wait_for(lambda: sliders_show(page, q), 'the slider is back where the rocker is')


def test_a_slider_shows_where_the_joint_is_also_when_messages_have_crossed(chromium):
    """The view has moved a joint, but before the page hears of that, its slider is moved there."""
    robot = ccd.load('four_bar')
    source = viewer.ModelSource(robot, ccd.assemble(robot, {'crank': 1.0}))
    with shown(chromium, source) as page:
        wait_for(lambda: sliders_show(page, source.q), 'the sliders show the pose')
        page.evaluate(PRESS_LATER)
        page.view_says(lambda: source.drag('crank', 0.5))
        # to 1.001 rad; where this machine was too slow for the two to cross, to 0.501 rad
        wait_for(lambda: page.view_says(lambda: source.q[0]) > 0.5005, 'the key was pressed')
        wait_for(
            lambda: sliders_show(page, page.view_says(lambda: source.q.copy())),
            'the sliders show the pose again',
        )


def test_a_log_is_scrubbed_through(chromium, log):
    source = viewer.LogSource(log)
    source.paused = True
    with shown(chromium, source) as page:
        drag_thumb(page, 1, 1.0)  # after that of the speed comes that of the time
        wait_for(
            lambda: source.position == pytest.approx(source.duration, abs=SLIDER_STEP),
            'the end of the log is shown',
        )
        page.get_by_text(f'{log.time[-1]:.2f} s').wait_for()
        page.get_by_role('tab', name='Plots').click()
        wait_for(
            lambda: [columns[0][-1] for _, columns in page.evaluate(CHARTS)] == [log.time[-1]] * 3,
            'the plots reach the end, too',
        )


def test_names_in_a_model_are_text_and_nothing_else(chromium):
    name = '![a](http://203.0.113.1/a.png)<img src="http://203.0.113.1/b.png"><b>/bold'
    text = Path(library.find('four_bar')).read_text()
    for old in ('name="four_bar"', 'name="coupler_rocker"'):
        assert old in text
        text = text.replace(old, f'name={quoteattr(name)}')
    with shown(chromium, viewer.ModelSource(ccd.load(text))) as page:
        page.get_by_text(f'model {name}').wait_for()
        page.get_by_role('tab', name='Loops').click()
        page.get_by_role('cell', name=name, exact=True).wait_for()
        page.get_by_role('button', name=f'Cut {name}').click()
        page.get_by_role('button', name=f'Connect {name}').wait_for()


def test_a_view_shows_itself_in_a_cell(chromium):
    """The frame that a notebook draws has the controls in it."""
    robot = ccd.load('four_bar')
    view = viewer.open_view(viewer.ModelSource(robot), port=0)
    page = chromium.new_page()
    page.set_default_timeout(1000.0 * PATIENCE)
    try:
        page.set_content(view._repr_html_())
        page.frame_locator('iframe').get_by_role('tab', name='Loops').wait_for()
    finally:
        page.close()
        view.stop()
