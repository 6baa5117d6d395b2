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

"""Advice for Python, in the words of the command line."""

import argparse
from collections.abc import Sequence
import re

__all__ = ['as_options', 'options_of']


def options_of(parser: argparse.ArgumentParser) -> list[str]:
    """Return the options that a parser knows, without the short ones."""
    return [
        each
        for action in parser._actions
        for each in action.option_strings
        if each.startswith('--')
    ]


def as_options(advice: str, options: Sequence[str]) -> str:
    """
    Return advice with arguments of Python written as options of the command, where it has them.

    `limits=False` becomes `--no-limits`, `root_joint='fixed'` becomes `--root-joint fixed`, and
    `actuated=[...]` becomes `--actuated NAMES`. What the command lacks is left out.
    """

    def option(found: re.Match[str]) -> str:
        name = found['name'].replace('_', '-')
        if found['value'] in ('True', 'False'):
            name = f'--{name}' if found['value'] == 'True' else f'--no-{name}'
            return name if name in options else found[0]
        value = 'NAMES' if found['value'] == '[...]' else found['value']
        return f'--{name} {value}' if f'--{name}' in options else found[0]

    only_python = r', or (?:pass|allow more with) [a-z_]+=\w*(?: and [a-z_]+=\w*)*(?=\.)'
    pattern = r"(?P<name>\b[a-z_]+)=(?P<quote>'?)(?P<value>True|False|\[\.\.\.\]|\w+)(?P=quote)"
    return re.sub(only_python, '', re.sub(pattern, option, advice))
