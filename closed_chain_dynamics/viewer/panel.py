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
The controls beside the picture: tabs to move, to connect and cut, to look at plots, and why.

Callbacks of the browser only note what is wanted; the thread of the view does it.
"""

from collections.abc import Iterable, Sequence
import html
from typing import TYPE_CHECKING, Any

from closed_chain_dynamics.description.elements import Joint
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.viewer.curves import Curves
from closed_chain_dynamics.viewer.live_controls import SPEEDS, LiveControls
from closed_chain_dynamics.viewer.observation import Loop, Observation
from closed_chain_dynamics.viewer.scene import LOOP_COLOURS, Scene, put
from closed_chain_dynamics.viewer.sliders import (
    SLIDER_STEP,
    Slider,
    nearest_turn,
    position,
    slider_range,
    within,
)
from closed_chain_dynamics.viewer.steering import Steering

if TYPE_CHECKING:  # it knows this file
    from closed_chain_dynamics.viewer.window import Window

__all__ = ['ControlPanel']

MOST_SLIDERS = 12  # in a folder that is open at first
REFUSED_STYLE = 'color: #c92a2a; font-weight: bold'
STATE_STYLES = {
    state: '#{:02x}{:02x}{:02x}'.format(*colour) for state, colour in LOOP_COLOURS.items()
}
HINTS = {
    'loops': 'balls: green closed, red open, orange sliding, blue sticking',
    'forces': 'in loops and contacts, on the child; pale where redundancy leaves them open',
    'joint forces': 'in the joints of the tree',
    'centre of mass': 'a yellow ball',
    'springs': 'springs between two points',
    'names': 'of the loops',
}


class ControlPanel:
    """The controls of one view; `window.do` and `window.follow` have its thread call something."""

    # `source` is Any because only some sources run, step, drag, hold or can be switched
    def __init__(self, server: Any, source: Any, scene: Scene, window: 'Window') -> None:
        self.gui, self.source, self.scene = server.gui, source, scene
        self.do, self.follow = window.do, window.follow
        self.message, self.status = self.gui.add_html(''), self.gui.add_html('')
        tabs = self.gui.add_tab_group()
        self.sliders: dict[str, Slider] = {}
        self.time: Slider | None = None  # of a recording
        self.folders: list[Any] = []  # handles of viser, as those below
        self.buttons: dict[str, Any] = {}
        with tabs.add_tab('Move'):
            self._add_running()
            simulator = getattr(source, 'simulator', None)
            self.live = LiveControls(self.gui, source, self.do) if simulator else None
            steers = getattr(source, 'steers', False)
            self.steering = Steering(self.gui, source, self.follow) if steers else None
            self._add_sliders()
            self._add_looks()
        with tabs.add_tab('Loops'):
            self._add_loops()
        with tabs.add_tab('Plots'):
            self.curves = Curves(self.gui, source, self.do)
        with tabs.add_tab('Why'):
            self.why = self.gui.add_html('')
            self.gui.add_html(_paragraphs(scene.notes))

    # --- what is there ---------------------------------------------------------------------------
    def _add_running(self) -> None:
        source = self.source
        if source.can_run:
            self.play = self.gui.add_button('Pause', hint='stop and go on')
            self.play.on_click(lambda _: self.do(source.toggle))
            speed = self.gui.add_slider('speed', *SPEEDS, 0.05, source.speed)
            speed.on_update(lambda _: setattr(source, 'speed', speed.value))
        actions = {'Step': source.step} if source.can_step else {}
        if source.can_run or source.can_drag:
            actions['Reset'] = source.reset
        if len(actions) > 1:
            buttons = self.gui.add_button_group(
                'time',
                list(actions),
                hint='Step: the smallest step of time. Reset: back to the start.',
            )
            buttons.on_click(lambda _: self.do(actions[buttons.value]))
        elif actions:
            reset = self.gui.add_button('Reset', hint='back to the start')
            reset.on_click(lambda _: self.do(source.reset))
            self.folders.append(reset)  # of what is dragged
        if source.duration is not None:
            time = self.gui.add_slider(
                'time [s]', 0.0, max(source.duration, SLIDER_STEP), SLIDER_STEP, 0.0
            )
            self.time = Slider(time, lambda value: self.follow(source.seek, value))
        if source.can_hold:
            hold = self.gui.add_checkbox(
                'motors hold the pose',
                source.hold,
                hint='the pose at the moment when this is switched on',
            )
            hold.on_update(lambda _: self.do(setattr, source, 'hold', hold.value))

    def _add_sliders(self) -> None:
        if not self.source.can_drag:
            return
        robot = self.source.robot
        joints = [joint for joint in robot.description.joints if joint.type.nv == 1]
        driven = [joint for joint in joints if joint.name in robot.actuator_names]
        others = [joint for joint in joints if joint not in driven]
        for title, group in (
            ('Motors: drag one, the others follow', driven),
            ('Passive joints: drag one, the others follow', others),
        ):
            if group:
                is_open = len(group) <= MOST_SLIDERS or len(group) == len(joints)
                folder = self.gui.add_folder(title, expand_by_default=is_open)
                self.folders.append(folder)
                with folder:
                    for joint in group:
                        self._add_slider(robot, joint)

    def _add_slider(self, robot: Mechanism, joint: Joint) -> None:
        low, high = slider_range(robot, joint)
        slider = self.gui.add_slider(joint.name, low, high, SLIDER_STEP, min(max(0.0, low), high))
        self.sliders[joint.name] = Slider(
            slider, lambda value: self.follow(self._drag, joint, value)
        )

    def _add_looks(self) -> None:
        with self.gui.add_folder('Show', expand_by_default=False):
            for what, shown in self.scene.shown.items():
                box = self.gui.add_checkbox(what, shown, hint=HINTS[what])
                box.on_update(
                    lambda event, what=what: self.follow(self._look, what, event.target.value)
                )
            scale = self.gui.add_slider('length of forces', 0.1, 5.0, 0.1, 1.0)
            scale.on_update(lambda _: self.follow(self._look, None, scale.value))

    def _add_loops(self) -> None:
        self.loops = self.gui.add_html('')
        if not self.source.can_switch:
            return
        for name in self.source.robot.loop_names:
            button = self.gui.add_button(f'Cut {name}')
            button.on_click(lambda _, name=name: self.do(self._switch, name))
            self.buttons[name] = button
        if self.source.gap is not None and self.buttons:
            gap = self.gui.add_number(
                'gap that connect closes [m]', self.source.gap, min=0.0, step=0.005
            )
            gap.on_update(lambda _: setattr(self.source, 'gap', gap.value))

    # --- what people do, in the thread of the view -----------------------------------------------
    def _drag(self, joint: Joint, value: float) -> None:
        now = position(self.source.snapshot(), joint.name)
        self.source.drag(joint.name, nearest_turn(joint, value, now))

    def _switch(self, name: str) -> None:
        connected = self.source.robot.is_connected(name)
        (self.source.cut if connected else self.source.connect)(name)

    def _look(self, what: str | None, value: Any) -> None:
        if what is None:
            self.scene.force_scale = value
        else:
            self.scene.shown[what] = value
        self.source.version += 1

    # --- what is shown ---------------------------------------------------------------------------
    @property
    def is_settled(self) -> bool:
        """Return whether all sliders show what they were set to, after people moved them."""
        steered = self.steering.sliders.values() if self.steering else ()
        recorded = [self.time] if self.time else ()
        return all(each.is_settled for each in (*self.sliders.values(), *steered, *recorded))

    def say(self, text: str) -> None:
        """Show a message over everything, or take it away."""
        put(self.message, 'content', _paragraphs([text] if text else [], style=REFUSED_STYLE))

    def update(self, seen: Observation, explanation: str) -> None:
        """Show the numbers of an Observation; plots and tables are slower than the picture."""
        source, snapshot = self.source, seen.snapshot
        time = '' if source.kind == 'model' else f' · {snapshot.time:.2f} s'
        if self.live:
            self.live.update()
            time += self.live.pace()
        if self.steering:
            self.steering.update(snapshot)
        put(
            self.status,
            'content',
            _paragraphs(
                [
                    f'{source.kind} {source.robot.name}{time} · loop error {seen.loop_error:.1e}',
                    *source.notes,
                ]
            ),
        )
        if source.can_run:
            put(self.play, 'label', 'Go on' if source.paused else 'Pause')
        if self.time:
            self.time.show(round(source.position, 3))
        for folder in self.folders:  # a live system is moved by its messages
            put(folder, 'visible', source.can_drag)
        for name, slider in self.sliders.items():
            slider.show(within(slider.handle, position(snapshot, name)))
        put(self.loops, 'content', _table(seen.loops))
        for loop in seen.loops:
            if loop.name in self.buttons:
                button, is_open = self.buttons[loop.name], loop.state == 'open'
                put(button, 'label', f'{"Connect" if is_open else "Cut"} {loop.name}')
                put(button, 'color', 'green' if is_open else 'red')
        put(self.why, 'content', _paragraphs(explanation.splitlines()))
        self.curves.update(source.samples())


def _paragraphs(lines: Iterable[str], style: str = '') -> str:
    """Return lines of text as HTML; what a model calls itself is never taken as markup."""
    return ''.join(
        f'<p style="margin: 0.4em 1em; font-size: 0.9em; {style}">{html.escape(line)}</p>'
        for line in lines
    )


def _table(loops: Sequence[Loop]) -> str:
    if not loops:
        return _paragraphs(['This mechanism has no loops.'])
    rows = ''.join(
        f'<tr><td>{html.escape(loop.name)}</td><td>{loop.type}</td>'
        f'<td style="color: {STATE_STYLES[loop.state]}"><b>{loop.state}</b></td>'
        f'<td style="text-align: right">{loop.error:.1e}</td></tr>'
        for loop in loops
    )
    head = ''.join(
        f'<th style="text-align: left">{each}</th>'
        for each in ('loop', 'type', 'state', 'error or gap')
    )
    return (
        '<table style="width: 100%; padding: 0 1em; font-size: 0.85em">'
        f'<tr>{head}</tr>{rows}</table>'
    )
