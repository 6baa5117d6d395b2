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
The server of a view, and the one thread that everything happens in.

The server listens on this machine alone; for others there is a door in front of it (`door`).
"""

from collections.abc import Callable
from contextlib import redirect_stdout
import html
import io
import socket
import threading
import time
import traceback
from typing import Any
from urllib.parse import urlsplit

import viser

from closed_chain_dynamics.errors import ClosedChainError
from closed_chain_dynamics.viewer.door import HOST, Door
from closed_chain_dynamics.viewer.observation import Observation, explain, observe
from closed_chain_dynamics.viewer.panel import ControlPanel
from closed_chain_dynamics.viewer.scene import Scene
from closed_chain_dynamics.viewer.sources import ViewSource

__all__ = ['Window']

LOCAL = (HOST, 'localhost', '::1')
ANY = ('', '0.0.0.0', '::')
MOST_PORTS = 100  # that are tried
IN_A_CELL = 520  # height in a notebook [pixels]
PANEL = 390  # width of the controls [pixels]
PICTURE_RATE, NUMBER_RATE = 30.0, 5.0  # per second
EXPLAIN_EVERY = 1.0  # [s]; a moving pose is explained no more often,
EXPLAIN_SHARE = 0.02  # and takes no more than this share of the time


class _LocalServer(viser.ViserServer):
    """A server that nobody outside is told about, and that no page from outside may talk to."""

    def __init__(self, port: int, label: str) -> None:
        with redirect_stdout(io.StringIO()):  # the address is for the caller to print
            super().__init__(host=HOST, port=port, label=label, verbose=False)
        self._websock_server.on_client_connect(self._refuse_strangers)

    def request_share_url(self, verbose: bool = True) -> None:
        """Refuse to let another computer pass the view on."""
        return None

    async def _refuse_strangers(self, connection: Any) -> None:
        """Close what a page from elsewhere has opened: a browser lets any page try."""
        line = self._websock_server._live_connections[connection.client_id]
        origin = line.request.headers.get('Origin')
        if origin is not None and urlsplit(origin).hostname not in LOCAL:
            await line.close(1008, 'only pages of this machine may connect')


def _free_port(first: int, host: str) -> int:
    """Return the first free port from one on; 0 lets the system choose."""
    with socket.socket() as trial:
        try:
            trial.bind((host, 0))
            chosen = int(trial.getsockname()[1])
        except (OSError, UnicodeError) as error:
            raise ClosedChainError(
                f'this machine cannot be reached as {host!r}: {error}',
                where='the browser view',
                repair='Give one of its own addresses, or 0.0.0.0 for all of them.',
            ) from None
    if first == 0:
        return chosen
    for port in range(first, min(first + MOST_PORTS, 65536)) if first >= 0 else ():
        with socket.socket() as trial:
            try:
                trial.bind((host, port))
                return port
            except OSError:
                continue
    raise ClosedChainError(
        f'no port from {first} upwards is free',
        where='the browser view',
        repair='Choose another one between 1024 and 65535.',
    )


class Window:
    """A source, shown in the browser; see `open_view`."""

    def __init__(self, source: ViewSource, *, port: int, host: str = HOST) -> None:
        self.source = source
        self._wanted: list[tuple[Any, ...]] = []  # calls: what, and its arguments
        self._lock = threading.Lock()
        self._wake, self._stopped = threading.Event(), False
        is_open, port = host not in LOCAL, _free_port(port, host)
        self.server = _LocalServer(_free_port(0, HOST) if is_open else port, source.robot.name)
        self.server.gui.configure_theme(show_logo=False, show_share_button=False)
        self.server.gui.main_panel.dock_right()
        self.server.gui.main_panel.set_width(PANEL)
        seen = observe(source.snapshot())
        self.scene = Scene(self.server, seen)
        self.panel = ControlPanel(self.server, source, self.scene, self)
        self._pace = _Pace(seen)
        self.panel.update(seen, self._pace.text)
        self.server.on_client_connect(lambda _: self._wake.set())
        # where it is; and what a browser has to open, which nobody else should be told
        self.place = self.address = f'http://{HOST}:{self.server.get_port()}'
        self._door = Door(host, port, self.server.get_port()) if is_open else None
        if self._door is not None:
            name = socket.gethostname() if host in ANY else host
            self.place = f'http://{name}:{port}'
            self.address = f'{self.place}/?token={self._door.token}'
        self._thread = threading.Thread(target=self._run, name='closed-chain view', daemon=True)
        self._thread.start()

    def do(self, action: Callable[..., Any], *arguments: Any) -> None:
        """Have the view's thread call something soon."""
        with self._lock:
            self._wanted.append((action, *arguments))

    def follow(self, action: Callable[..., Any], *arguments: Any) -> None:
        """Do the same for a value, the last argument, in place of one that is still waiting."""
        with self._lock:
            call = (action, *arguments)
            self._wanted = [each for each in self._wanted if each[:-1] != call[:-1]] + [call]

    @property
    def browsers(self) -> int:
        """Return how many browsers look."""
        return len(self.server.get_clients())

    def _repr_html_(self) -> str:
        """Return the view for a cell of a notebook whose browser runs on this machine."""
        return (
            f'<iframe src="{html.escape(self.address)}" width="100%" height="{IN_A_CELL}" '
            'style="border: none"></iframe>'
        )

    def stop(self) -> None:
        """Close the view."""
        self._stopped = True
        self._wake.set()
        self._thread.join(timeout=5.0)
        if self._door is not None:
            self._door.close()
        with redirect_stdout(io.StringIO()):
            self.server.stop()

    # --- the thread ------------------------------------------------------------------------------
    def _run(self) -> None:
        """Let time pass while somebody looks; sleep while nobody does."""
        last = time.monotonic()
        while not self._stopped:
            if not self.server.get_clients():
                self._wake.wait()
                self._wake.clear()
                last = time.monotonic()
                continue
            time.sleep(max(0.0, last + 1.0 / PICTURE_RATE - time.monotonic()))
            last, elapsed = time.monotonic(), time.monotonic() - last
            acted = self._act(elapsed)
            self._try(self._show, self._pace, last, acted, quietly=True)

    def _act(self, elapsed: float) -> bool:
        """Do what people want, then let time pass; return whether anything was wanted."""
        with self._lock:
            wanted, self._wanted = self._wanted, []
        for action, *arguments in wanted:
            self._try(action, *arguments)
        if wanted or not self.source.paused:
            self._try(self.source.advance, elapsed, quietly=True)
        return bool(wanted)

    def _try(self, action: Callable[..., Any], *arguments: Any, quietly: bool = False) -> None:
        """Call something; say what it refuses, and no longer what was refused before."""
        try:
            action(*arguments)
            if not quietly:
                self.panel.say('')
        except ClosedChainError as error:
            self.panel.say(str(error))
        except Exception as error:  # a fault of the view: it is told, and the view goes on
            traceback.print_exc()
            self.panel.say(f'The view has a fault: {type(error).__name__}: {error}')

    def _show(self, pace: '_Pace', now: float, acted: bool) -> None:
        """Draw what has changed; numbers, and explanations even more, take their time."""
        if pace.version != self.source.version:
            pace.version, pace.pending, pace.unexplained = self.source.version, True, True
            pace.seen = observe(self.source.snapshot())
            self.source.noticed(pace.seen)
            self.scene.draw(pace.seen)
        if pace.unexplained and now > pace.explain_from:
            pace.explain(now)
        unsaid = pace.pending or not self.panel.is_settled
        if acted or (unsaid and now - pace.numbered > 1.0 / NUMBER_RATE):
            pace.numbered, pace.pending = now, False
            self.panel.update(pace.seen, pace.text)


class _Pace:
    """What the view showed last, and when the rest is due."""

    def __init__(self, seen: Observation) -> None:
        self.seen, self.numbered, self.pending = seen, 0.0, True
        self.version: int | None = None
        self.explain(time.monotonic())

    def explain(self, now: float) -> None:
        """Explain the coordinates, again only after a while: in some poses it takes long."""
        self.text, self.unexplained, self.pending = explain(self.seen.snapshot), False, True
        cost = time.monotonic() - now
        self.explain_from = now + max(EXPLAIN_EVERY, cost / EXPLAIN_SHARE)
