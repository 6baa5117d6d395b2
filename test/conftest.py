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

"""What all tests share: reproducible properties, and models that are not part of the package."""

from pathlib import Path

from helpers.logged_runs import all_kinds_run, four_bar_run, torn_run
from hypothesis import settings
import pytest

# Compiling a kernel would break any deadline, and a failure must come back when it is run again.
settings.register_profile('reproducible', deadline=None, derandomize=True)
settings.load_profile('reproducible')


@pytest.fixture(scope='session')
def shared_models():
    """Return the folder with models of other projects, which stands next to the repository."""
    folder = Path(__file__).resolve().parents[2] / 'shared' / 'models'
    if not folder.is_dir():
        pytest.skip('models of other projects are not here: no folder ../shared/models')
    return folder


@pytest.fixture(scope='session')
def log():
    """Return the log of a four-bar whose loop opens and closes."""
    return four_bar_run()


@pytest.fixture(scope='session')
def torn():
    """Return the log of a four-bar that is torn apart at a joint of its tree."""
    return torn_run()


@pytest.fixture(scope='session')
def all_kinds():
    """Return the log of a mechanism with every kind of joint."""
    return all_kinds_run()
