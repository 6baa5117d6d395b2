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

"""``closed-chain bench``: the speed, side by side with other engines."""

import argparse
from collections.abc import Callable
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
import sys
from types import ModuleType

from closed_chain_dynamics.cli.arguments import print_report
from closed_chain_dynamics.errors import ClosedChainError
from closed_chain_dynamics.model.library import share_folder

SUMMARY = 'measure the speed, side by side with Pinocchio and MuJoCo'
DETAILS = """\
Builds a four-bar (M1), the figure on the swing (M2), a humanoid on a bar (M3) and ladders of
four-bars (M4_k) for each engine from the same numbers, checks that the answers agree, and times
alternating calls from Python. A ratio above 1 means that this package is faster. Ratios carry over
from machine to machine, times do not. Engines that are not installed are left out.
"""
EXAMPLES = """\
examples:
  closed-chain bench                      a few minutes
  closed-chain bench --quick              well under a minute
  closed-chain bench --quick --json > bench.json
"""


def set_up(parser: argparse.ArgumentParser) -> Callable[[argparse.Namespace], None]:
    """Add the arguments; return what runs."""
    parser.add_argument(
        '--quick',
        action='store_true',
        help='measure for a shorter time; medians scatter slightly more',
    )
    return run


def run(args: argparse.Namespace) -> None:
    """Measure, and print the report."""
    bench = side_by_side()
    report = bench.bench_report(quick=args.quick, tell=lambda text: print(text, file=sys.stderr))
    print_report(report, args, bench.render)


def side_by_side() -> ModuleType:
    """
    Return the module that measures, from the folder ``benchmarks`` of this very package.

    The folder is no part of the package, and other projects install one of that name: so it is
    loaded from where the shipped files are, whatever the path of Python says.
    """
    folder = share_folder() / 'benchmarks'
    spec = spec_from_file_location('benchmarks', folder / '__init__.py')
    if spec is None or spec.loader is None or not (folder / 'side_by_side.py').is_file():
        raise ClosedChainError(
            'the benchmarks were not installed with the package',
            where=str(folder),
            repair='Install it again, with pip or colcon.',
        )
    package = module_from_spec(spec)
    sys.modules['benchmarks'] = package
    spec.loader.exec_module(package)
    return import_module('benchmarks.side_by_side')
