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
The compiled part: every function here is numba code on tables of records, with no Python inside.

`records` says what the tables hold and `vectors` is the algebra; the others are one idea a file.
All of them take the handle of a mechanism, `robot.handle`. Functions named `compute_...` are
called from Python: they check the state, do one whole computation and return a status.
"""

import logging
import math
import pathlib
import re
import sys
from typing import Any

from numba.core import event
import numpy as np

from .aiming import aim_slow, forget_slow
from .body_motion import BODY_STATE, compute_bodies
from .closure import compute_closure, compute_gaps, compute_loop_bias
from .compiling import compile_at_once
from .cone_solver import solve_cones
from .constraint_rows import compute_constraints, compute_loop_jacobian
from .contact_events import note_directions
from .coordinates import compute_coordinates
from .forward import compute_forward_dynamics, forward_dynamics
from .holds import compute_hold_states, note_turns
from .impact import compute_impact
from .inertia import compute_mass_matrix, compute_totals
from .inverse import compute_inverse_dynamics
from .kinematics import (
    UNIT_TOLERANCE,
    check_state,
    compute_jacobian,
    compute_motion,
    compute_placements,
)
from .loop_closing import close_loops
from .loops import linear_rows
from .manifold import difference, integrate, neutral
from .newton_euler import compute_joint_wrenches, compute_newton_euler
from .reroot import compute_free, compute_home, compute_layout
from .run import (
    EVENT_TIME,
    RUN,
    compute_aim,
    compute_loop_placement,
    compute_run,
    compute_signs,
    record,
)
from .settling import compute_settling
from .singularity import DISTANCE, compute_distances
from .step import advance, local_rate
from .structure import build_clusters
from .surfaces import sliding_velocity, surface_distance
from .tendons import lay_tendon, tendon_row

__all__ = [
    'BODY_STATE',
    'DISTANCE',
    'EVENT_TIME',
    'RUN',
    'UNIT_TOLERANCE',
    'Strict',
    'advance',
    'aim_slow',
    'build_clusters',
    'check_state',
    'close_loops',
    'compile_at_once',
    'compute_aim',
    'compute_bodies',
    'compute_closure',
    'compute_constraints',
    'compute_coordinates',
    'compute_distances',
    'compute_forward_dynamics',
    'compute_free',
    'compute_gaps',
    'compute_hold_states',
    'compute_home',
    'compute_impact',
    'compute_inverse_dynamics',
    'compute_jacobian',
    'compute_joint_wrenches',
    'compute_layout',
    'compute_loop_bias',
    'compute_loop_jacobian',
    'compute_loop_placement',
    'compute_mass_matrix',
    'compute_motion',
    'compute_newton_euler',
    'compute_placements',
    'compute_run',
    'compute_settling',
    'compute_signs',
    'compute_totals',
    'difference',
    'forget_slow',
    'forward_dynamics',
    'integrate',
    'lay_tendon',
    'linear_rows',
    'local_rate',
    'neutral',
    'note_directions',
    'note_turns',
    'record',
    'sliding_velocity',
    'solve_cones',
    'surface_distance',
    'tendon_row',
]


def _find_no_conversion(*_: Any) -> bool:
    return False


class Strict:
    """
    A kernel that refuses, with TypeError, arguments of other types than it was compiled for.

    A plain kernel would compile itself again for them. So the functions that matter for speed
    `call` their kernel first, and look at the arguments only when it refuses them; the first call
    is always a `checked` one, with arguments whose types are known to be right.
    """

    def __init__(self, kernel: Any) -> None:
        self.kernel, self.call = kernel, self._refuse

    @staticmethod
    def _refuse(*_: Any) -> Any:
        raise TypeError('not compiled for these types')

    def checked(self, *arguments: Any) -> Any:
        """Call the kernel with the right types, which compiles it when it is not yet."""
        if self.kernel.waits(arguments):
            return self.kernel.interpret(arguments)
        entry = self.kernel.entry
        entry.disable_compile(False)
        result = entry(*arguments)
        entry.disable_compile()
        # numba would look for conversions and name all types in its message, which nobody reads:
        # 300 us for lists or arrays that are read only, where a whole computation takes 10 us
        entry._search_new_conversions = _find_no_conversion
        entry._explain_matching_error = self._refuse
        self.call = entry
        return result


def _imported(module, folder):
    """Return the kernel files that one imports."""
    text = (folder / f'{module}.py').read_text(encoding='utf-8')
    return re.findall(r'^from \.(?: import )?(\w+)', text, re.MULTILINE)


def _sources_of(module, imports):
    """Return a kernel file, those that it imports, and those that these import in turn."""
    found, todo = set(), {module}
    while todo:
        found |= todo
        todo = {name for each in todo for name in imports[each]} - found
    return found


def _drop_stale_caches():
    """
    Remove compiled code that is older than any source it was made from, or whose source is gone.

    Numba looks at the file of the function that is called, not at those it calls in turn: a kernel
    is as old as the records and vectors that it works on.
    """
    folder = pathlib.Path(__file__).parent
    files = {path.stem: path.stat().st_mtime for path in folder.glob('*.py')}
    imports = {module: _imported(module, folder) for module in files}
    for index in (folder / '__pycache__').glob('*.nbi'):
        module = index.name.split('.')[0]
        try:
            sources = _sources_of(module, imports) if module in files else ()
            newest = max((files[name] for name in sources), default=math.inf)
            if index.stat().st_mtime < newest:
                index.unlink()
        except OSError:  # a read-only installation, or another process was faster
            logging.getLogger('closed_chain_dynamics').debug('cannot drop %s', index)


class _Announcer(event.Listener):
    """Says once that kernels are being compiled, so that nobody takes the wait for a hang."""

    said = False

    def on_start(self, event):
        function = event.data['dispatcher'].py_func
        if not self.said and function.__module__.startswith(__name__):
            _Announcer.said = True
            print(
                'closed_chain_dynamics: compiling kernels for this machine (once, up to a '
                'minute) ...',
                file=sys.stderr,
                flush=True,
            )

    def on_end(self, event):
        """Nothing to say at the end of a compilation."""


_drop_stale_caches()
event.register('numba:compile', _Announcer())
if np.lib.NumpyVersion(np.__version__) < '2.0.0':
    compile_at_once()  # plain Python adds a signed and an unsigned index to a float there
