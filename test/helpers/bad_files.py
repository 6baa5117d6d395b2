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

"""Files that no mechanism can be built from, and the words that their errors must have."""

from helpers.bad_loops import LOOPS
from helpers.bad_trees import TREES

CASES = {**TREES, **LOOPS}
# id: (the YAML beside a good file, words of the culprit, words of the repair)
YAML_CASES = {
    'malformed': ('closed_loop: [[', ['line 1', 'malformed'], ['brackets']),
    'no mapping': ('- closed_loop', ['not a mapping'], ['closed_loop']),
    'no pairs': ('closed_loop: [tip, base]', ['pairs of names'], ['[[']),
    'unknown frame': ('closed_loop: [[tpi, base]]', ["'tpi'"], ["mean 'tip'"]),
    'unknown type': ("closed_loop: [[tip, base]]\ntype: ['4d']", ["'4d'"], ['6d']),
    'too few types': ('closed_loop: [[tip, base]]\ntype: []', ['1 entries', 'has 0'], ['one']),
    'unknown motor': (
        'closed_loop: []\nname_mot: [elbw]',
        ["'elbw'", 'name_mot'],
        ["mean 'elbow'"],
    ),
    'motors that are no names': ('closed_loop: []\nname_mot: [1]', ['name_mot'], ['first']),
    'unknown type of joint': (
        'closed_loop: []\njoint_name: [elbow]\njoint_type: [SPHERICL]',
        ["'SPHERICL'", "'elbow'"],
        ["mean 'SPHERICAL'"],
    ),
    'types that miss': ('closed_loop: []\njoint_name: [elbow]', ['1 entries', 'has 0'], ['one']),
    'loop with itself': ('closed_loop: [[tip, elbow]]', ["'tip' with itself"], ['two different']),
    'code': ('closed_loop: !!python/object/apply:os.getcwd []', ['malformed'], ['brackets']),
}
