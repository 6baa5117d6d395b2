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

"""Calls in other surroundings: a library or a program is missing, or on the command line."""

import argparse
from contextlib import contextmanager
import os
import sys
from unittest import mock

from closed_chain_dynamics.cli import simulate

__all__ = ['command', 'with_program', 'without', 'without_library']


@contextmanager
def without(library, *users):
    """Make a library as absent as if it were not installed, and its users not imported yet."""
    mine = {name: None for name in sys.modules if name.split('.')[0] == library}
    with mock.patch.dict(sys.modules, {**mine, library: None}):
        for name in users:
            sys.modules.pop(name, None)
        yield


def without_library(library, call, *users):
    """Return a call that is made where a library is not installed."""

    def run(at):
        with without(library, *users):
            call(at)

    return run


def with_program(lines, call):
    """Return a call that is made where the only program is an ffmpeg with these lines, or none."""

    def run(at):
        if lines:
            program = at / 'ffmpeg'
            program.write_text('\n'.join(['#!/bin/sh', *lines]))
            program.chmod(0o755)
        with mock.patch.dict(os.environ, {'PATH': f'{at}'}):
            call(at)

    return run


def command(*arguments, module=simulate):
    """Return a call of a sub-command of `closed-chain` that lets its error through."""

    def run(at):
        parser = argparse.ArgumentParser()
        parser.set_defaults(run=module.set_up(parser), json=False)
        args = parser.parse_args([str(each) for each in arguments])
        args.run(args)

    return run
