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

"""Kernels that others call through a cell: compiled once, when they are needed."""

from pathlib import Path
import subprocess
import sys
import time

import numpy as np
import pytest

from closed_chain_dynamics import kernels as layers
from closed_chain_dynamics.kernels.compiling import kernel_without_patience
from closed_chain_dynamics.kernels.sharing import NUMBER, VECTOR, shared_kernel

PATIENCE = 60.0  # with a signal that comes after a hundredth of a second [s]


@pytest.fixture
def kernels():
    """Return a shared kernel, and two that call it."""

    @shared_kernel(VECTOR, NUMBER, returns=NUMBER)
    def total(x, factor):
        result = 0.0
        for k in range(x.size):
            result += factor * x[k]
        return result

    @kernel_without_patience
    def mean(x):
        return total(x, 1.0) / x.size if x.size else 0.0

    @kernel_without_patience
    def spread(x):
        square = 0.0
        for k in range(x.size):
            square += (x[k] - total(x, 1.0 / x.size)) ** 2
        return square / x.size

    return total, mean, spread


def test_compiled_code_is_as_old_as_the_records_that_it_works_on():
    """However a kernel imports them: code of another layout would write beyond its memory."""
    folder = Path(layers.__file__).parent
    imports = {path.stem: layers._imported(path.stem, folder) for path in folder.glob('*.py')}
    for module in ('manifold', 'run', 'vectors'):
        works_on_records = 'at.' in (folder / f'{module}.py').read_text()
        assert ('records' in layers._sources_of(module, imports)) == works_on_records


def test_it_is_compiled_once_and_when_it_is_needed(kernels):
    total, mean, spread = kernels
    x = np.arange(5.0)
    assert mean(np.empty(0)) == 0.0 and not total.cell.value  # its caller is compiled, it is not
    assert mean(x) == np.mean(x) and spread(x) == np.var(x)
    assert len(total.entry.signatures) == 1
    assert total(x, 2.0) == 20.0 and len(total.entry.signatures) == 1  # from Python: the same code


def test_a_key_pressed_while_it_is_compiled_is_kept_until_that_is_done(kernels, monkeypatch):
    total, mean, _ = kernels
    fill, presses = total.fill, iter([KeyboardInterrupt])

    def interrupted():
        for press in presses:
            raise press
        fill()

    monkeypatch.setattr(total, 'fill', interrupted)
    with pytest.raises(KeyboardInterrupt):
        assert mean(np.ones(3)) == 1.0
        time.sleep(PATIENCE)
    assert mean(np.ones(3)) == 1.0


def test_a_full_disk_costs_the_cache_and_nothing_else(kernels, monkeypatch):
    total, mean, _ = kernels

    def full(*_):
        raise OSError(28, 'No space left on device')

    monkeypatch.setattr(total.entry._cache, 'save_overload', full)
    assert mean(np.ones(3)) == 1.0


def test_what_cannot_be_compiled_ends_with_the_reason_and_not_in_a_crash(tmp_path):
    """In a process of its own: compiled code has no way back to an error of Python."""
    script = """
from closed_chain_dynamics import kernels as layers
from closed_chain_dynamics.kernels.compiling import kernel_without_patience
from closed_chain_dynamics.kernels.sharing import NUMBER, shared_kernel

@shared_kernel(NUMBER, returns=NUMBER)
def wrong(x):
    return x.no_such_thing

@kernel_without_patience
def caller(x):
    return wrong(x)

caller(1.0)
"""
    file = tmp_path / 'wrong.py'  # kernels are cached beside their file
    file.write_text(script)
    done = subprocess.run([sys.executable, file], capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    assert 'no_such_thing' in done.stderr and 'wrong could not be compiled' in done.stderr
