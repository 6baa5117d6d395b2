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

"""What the page on reliability promises is shown by tests that exist."""

from pathlib import Path
import re

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / 'docs' / 'pages' / 'reliability.md'
TEST = re.compile(r'`(test/[\w/]+\.py)(?:::(test_\w+))?`')
NAMED = sorted(set(TEST.findall(PAGE.read_text(encoding='utf-8'))))
COMMAND = re.compile(r'python (benchmarks/\w+\.py)|^make (\w+)', re.M)


@pytest.mark.parametrize('file, name', NAMED, ids=lambda each: each.rpartition('/')[2])
def test_a_test_that_the_page_names_exists(file, name):
    path = ROOT / file
    assert path.is_file(), f'{file} is not there'
    assert not name or re.search(rf'^def {name}\(', path.read_text(), re.M), f'no {name} in {file}'


def test_every_row_of_what_is_promised_names_a_test():
    rows = PAGE.read_text(encoding='utf-8').partition('## Guarantees')[2]
    rows = [line for line in rows.partition('\n## ')[0].splitlines() if line.startswith('| ')]
    assert len(rows) > 20
    assert not [row for row in rows[2:] if 'test/' not in row.rsplit('|', 2)[1]]


def test_the_commands_of_the_page_exist():
    targets = re.findall(r'^(\w+):', (ROOT / 'Makefile').read_text(), re.M)
    found = COMMAND.findall(PAGE.read_text(encoding='utf-8'))
    assert found
    for script, target in found:
        assert (ROOT / script).is_file() if script else target in targets, (script, target)
