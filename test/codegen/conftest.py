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
Compiled code of the tests goes to a folder of their own, and stays there for a week.

Libraries are named by a hash of all that they depend on, so that an old one is never a wrong one.
"""

from contextlib import suppress
from time import time

import pytest

WEEK = 7 * 24 * 3600.0  # [s]


@pytest.fixture(scope='session', autouse=True)
def cache_of_the_tests(pytestconfig):
    folder = pytestconfig.cache.mkdir('generated_code')
    for file in folder.rglob('*'):
        with suppress(FileNotFoundError):  # another worker writes there at this time
            if file.is_file() and time() - file.stat().st_mtime > WEEK:
                file.unlink()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv('XDG_CACHE_HOME', str(folder))
        yield


@pytest.fixture
def empty_cache(monkeypatch, tmp_path):
    """Let a test begin without compiled code."""
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path))
