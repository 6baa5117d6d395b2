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
The browser view: a mechanism to look at, to move along its loops, to connect and to cut.

`open_view(source)` shows a `ViewSource` (`sources`: a model; `simulation_source`, `log_source`;
`live`: a system that runs elsewhere) at an address of this machine alone, unless `host` says
otherwise: then who opens it needs the token in its address (`door`). It asks nothing of any other
machine.
`observation` computes what there is to see, `scene` draws it, `panel` holds the controls, and
`window` is the server and the one thread that all happens in. `NullViewer` takes the same calls
and shows nothing. This room is the only one that imports viser, and may import `studies` and
the rooms below it.
"""

from typing import TYPE_CHECKING

from closed_chain_dynamics.errors import ClosedChainError
from closed_chain_dynamics.viewer.door import HOST
from closed_chain_dynamics.viewer.log_source import LogSource
from closed_chain_dynamics.viewer.simulation_source import SimulationSource
from closed_chain_dynamics.viewer.sources import ModelSource, ViewSource

if TYPE_CHECKING:
    from closed_chain_dynamics.viewer.window import Window

__all__ = ['LogSource', 'ModelSource', 'NullViewer', 'SimulationSource', 'ViewSource', 'open_view']

PORT = 8080


class NullViewer:
    """A view that nobody sees, for programs that run with and without one."""

    address, place, browsers = '', '', 0

    def __init__(self, source: ViewSource | None = None) -> None:
        self.source = source

    def stop(self) -> None:
        """Do nothing: there is nothing to stop."""


def open_view(source: ViewSource, *, port: int = PORT, host: str = HOST) -> 'Window':
    """
    Show a source in the browser and return the view: `address`, `browsers` that look, `stop()`.

    A port that is taken gives way to the next free one. `host`: an address of this machine that
    others reach, or 0.0.0.0 for all; then the view opens only with the random token of `address`.
    """
    try:
        from closed_chain_dynamics.viewer.window import Window
    except ImportError as error:
        if (error.name or '').partition('.')[0] != 'viser':
            raise
        raise ClosedChainError(
            'the browser view needs the library viser', repair='Install it: pip install viser.'
        ) from None
    return Window(source, port=port, host=host)
