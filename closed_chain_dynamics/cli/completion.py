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
``closed-chain completion``: what the Tab key needs to know of this command.

The shells ask the command itself, through argcomplete: so what is offered is what the parsers
know, and beyond that the shipped models and the joints of the model that stands on the line.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
import os
from typing import Any

from closed_chain_dynamics.errors import ClosedChainError

__all__ = ['offer_completions', 'set_up']

SUMMARY = 'print a script for completion with the Tab key in your shell'
DETAILS = """\
Prints a script that lets a shell complete commands, options, their values, the models that come
with the package, and joint names in --q, --v, --tau, --cut and similar options, taken from the
model on the line.
"""
EXAMPLES = """\
examples:
  closed-chain completion bash   what it prints; into ~/.bashrc goes the line
                                   eval "$(closed-chain completion bash)"
  closed-chain completion zsh    the same with zsh in ~/.zshrc, after the line with compinit
  closed-chain completion fish > ~/.config/fish/completions/closed-chain.fish
"""
SHELLS = ('bash', 'zsh', 'fish')
JOINT_OPTIONS = {  # what follows the name of a joint, by option
    **dict.fromkeys(('q', 'v', 'a', 'tau', 'sine', 'preload', 'weights'), '='),
    **dict.fromkeys(('connect', 'cut'), '@'),
    **dict.fromkeys(('actuated', 'watch'), ''),
}


def set_up(parser: argparse.ArgumentParser) -> Callable[[argparse.Namespace], None]:
    """Add the argument; return what runs."""
    parser.add_argument('shell', metavar='SHELL', choices=SHELLS, help=', '.join(SHELLS))
    return run


def run(args: argparse.Namespace) -> None:
    """Print the lines for a shell."""
    code = _argcomplete().shellcode(['closed-chain'], shell=args.shell)
    if args.json:
        import json

        code = json.dumps({'shell': args.shell, 'code': code}, indent=2)
    print(code)


def _argcomplete() -> Any:
    try:
        import argcomplete
    except ImportError:
        raise ClosedChainError(
            'completion needs the library argcomplete',
            repair='Install it: pip install argcomplete.',
        ) from None
    return argcomplete


def offer_completions(parser: argparse.ArgumentParser) -> None:
    """Answer a shell that asks what may stand at the cursor, and end; else do nothing."""
    if '_ARGCOMPLETE' not in os.environ:
        return
    _give_completers(parser)
    _argcomplete().autocomplete(parser, always_complete_options='long')


def _give_completers(parser: argparse.ArgumentParser) -> None:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for child in action.choices.values():
                _give_completers(child)
        elif action.dest == 'model':
            action.completer = _models  # type: ignore[attr-defined]
        elif action.dest in JOINT_OPTIONS:
            action.completer = _joints  # type: ignore[attr-defined]


def _models(prefix: str, **_: Any) -> Iterable[str]:
    from argcomplete.completers import FilesCompleter

    from closed_chain_dynamics.model import library

    files: Iterable[str] = FilesCompleter(['urdf', 'xacro', 'xml', 'npz', 'yaml'])(prefix)
    return [*library.shipped(), *files]


def _joints(
    prefix: str, action: argparse.Action, parsed_args: argparse.Namespace, **_: Any
) -> Iterable[str]:
    """Return the joints of the model on the line; after a name and its sign there is a number."""
    from closed_chain_dynamics.description import read
    from closed_chain_dynamics.model import library

    sign = JOINT_OPTIONS[action.dest]
    if sign and sign in prefix:
        return []
    model = read(library.find(parsed_args.model))
    movable = [joint.name for joint in model.joints if joint.type.nv]
    return [f'{name}{sign}' for name in (*movable, *(loop.name for loop in model.loops))]
