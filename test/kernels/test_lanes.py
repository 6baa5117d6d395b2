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

"""Numbers side by side in a register: compiled as in plain Python, and as plain numbers."""

import numpy as np
import pytest

from benchmarks.models import case
from closed_chain_dynamics.kernels import compiling, compute_forward_dynamics
from closed_chain_dynamics.kernels.compiling import kernel
from closed_chain_dynamics.kernels.lanes import (
    add_four,
    add_six,
    four,
    lane,
    put_four,
    put_six,
    scale_four,
    scale_six,
    six,
)


@kernel
def combine(x, out):
    """Write 2 x + 3 x of the next row to out: four from place 1 on, then six from place 6 on."""
    put_four(out, 1, add_four(scale_four(four(x, 1), 2.0), 3.0, four(x, 13)))
    own = add_six(scale_six(six(x, 6), 2.0), 3.0, six(x, 18))
    put_six(out, 6, own)
    out[0, 0] = lane(own, 5)


@pytest.mark.parametrize('run', [combine.entry, combine.plain], ids=['compiled', 'plain'])
def test_lanes_are_neighbours_of_a_row(run):
    x, out = np.arange(24.0).reshape(2, 12), np.full((2, 12), -1.0)
    run(x, out)
    wanted = np.full((2, 12), -1.0)
    wanted[0, 1:5] = 2.0 * x[0, 1:5] + 3.0 * x[1, 1:5]
    wanted[0, 6:] = 2.0 * x[0, 6:] + 3.0 * x[1, 6:]
    wanted[0, 0] = wanted[0, 11]
    assert np.array_equal(out, wanted)


@pytest.mark.parametrize('key', ['M1', 'M2', 'M3', 'M4_2'])
def test_plain_python_never_reaches_beyond_a_table(key, monkeypatch):
    # memory beyond the end is there for machines, but not for Python: there it would be an error,
    # after which a kernel runs again, compiled, on a state that is half done
    c = case(key)
    answer = np.empty(c.robot.n_answer)
    monkeypatch.setattr(compiling._here, 'plain', True)
    status = compute_forward_dynamics.plain(c.robot.handle, c.q, c.v, c.tau_A, answer)
    assert status == 0
    found = answer[-c.robot.nv :]
    # mass matrices have condition numbers up to 1e4: that times rounding
    assert np.abs(found - c.a).max() <= 1e-11 * np.abs(c.a).max()
