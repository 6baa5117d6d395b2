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
``closed-chain derive``: write the equations of motion as LaTeX, Python or C, and count operations.

The report is one plain dict, which is what ``--json`` prints; derive_text.py has it for people.
Heavy imports stay inside, so that help is instant.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
import signal
import sys
import threading
from types import FrameType
from typing import TYPE_CHECKING

from closed_chain_dynamics.cli.arguments import (
    add_assignments,
    add_gravity,
    add_model_arguments,
    load_model,
    positive,
    print_report,
)
from closed_chain_dynamics.cli.derive_list import derive_list, list_file, render_list
from closed_chain_dynamics.cli.derive_text import render
from closed_chain_dynamics.cli.written_files import write_files
from closed_chain_dynamics.errors import StructureError
from closed_chain_dynamics.recording.terminal import Bar, Report

if TYPE_CHECKING:  # NumPy and SymPy are slow to import
    import numpy as np
    from numpy.typing import NDArray

    from closed_chain_dynamics.model.mechanism import Mechanism
    from closed_chain_dynamics.symbolic.cost import Cost
    from closed_chain_dynamics.symbolic.reduced_equations import ReducedEquations

SUMMARY = 'write the equations of motion as LaTeX, Python or C, and count operations'
DETAILS = """\
Derives the equations of motion of a model in its independent coordinates q_1,

    M_1 q_1'' + c_1 + g_1 + tau_1s + tau_1d = tau_1

(inertia, centrifugal and Coriolis forces, weight, springs, dampers). Loops and gears are
eliminated by one of three methods:

  te  solves planar loops and gears for the sines and cosines of the dependent joints
  de  solves planar loops and gears for the angles of the dependent joints
  ic  projects the equations of the tree with W = [E; -J_2^-1 J_1]; for loops of any kind, as a
      function of all positions q

Models that te and de do not fit (loops out of a plane; ball, planar or free joints) are derived by
ic. --cost counts the operations of all methods that fit.

MODEL may also be a list file (.yaml): points, segments, springs and forces by name, in 2D or 3D.
Its equations of motion come from Lagrange's method, with constraint forces as multipliers, in
SymPy notation; 'closed-chain models' lists those that are shipped.
"""
EXAMPLES = """\
examples:
  closed-chain derive four_bar                          how large are its equations?
  closed-chain derive exo --method ic --what tau --c exo.c       inverse dynamics in C
  closed-chain derive exo --what q,M,g --python exo.py  closed form of all joints, and two terms
  closed-chain derive slider_crank --latex slider_crank.tex
  closed-chain derive exo --cost                        the three methods, and published costs
  closed-chain derive exo --method ic --speed           compared with the numerical core
  closed-chain derive standing_figure --latex figure.tex --c figure.c        from a list file
"""

SCHEMA = 'closed-chain-derive/1'  # a key that is added keeps it, one that changes ends it
SHORT = {
    'M': 'M_1',
    'c': 'c_1',
    'g': 'g_1',
    'tau_s': 'tau_1s',
    'tau_d': 'tau_1d',
    'tau': 'tau_1',
    'W': 'W',
    'q': 'q',
}
ANNOUNCED_AFTER = 5.0  # what takes longer is announced [s]
USUAL = 'M,c,g,tau_s,tau_d'


def _terms(text: str) -> list[str]:
    terms = [SHORT.get(name, name) for name in text.split(',')]
    for term in terms:
        if term not in SHORT.values():
            raise argparse.ArgumentTypeError(f'{term!r} is none of {", ".join(SHORT)}')
    return list(dict.fromkeys(terms))


def set_up(parser: argparse.ArgumentParser) -> Callable[[argparse.Namespace], None]:
    """Add the arguments; return what runs."""
    add_model_arguments(parser, also='list file .yaml')
    what = parser.add_argument_group('what to derive')
    what.add_argument(
        '--method',
        choices=['te', 'de', 'ic'],
        default='te',
        help='trigonometric elimination, direct elimination, implicit constraints '
        '(default: %(default)s)',
    )
    what.add_argument(
        '--what',
        metavar='TERMS',
        type=_terms,
        default=_terms(USUAL),
        help=f'any of {", ".join(SHORT)}, separated by commas (default: '
        f'{USUAL}); tau is the whole inverse dynamics, W all rates per '
        'independent rate, q all positions',
    )
    add_assignments(
        what,
        {
            '--q': 'the pose that selects the branch of every loop; loops determine the rest '
            '[rad or m]'
        },
    )
    add_gravity(what)
    what.add_argument(
        '--longest',
        metavar='S',
        type=positive,
        default=600.0,
        help='stop if it would take longer than this (default: %(default)g s)',
    )
    files = parser.add_argument_group('files to write')
    for option, kind in (
        ('--latex', 'LaTeX document'),
        ('--python', 'Python module for numba'),
        ('--c', 'C99 file'),
    ):
        files.add_argument(option, metavar='FILE', help=kind)
    more = parser.add_argument_group('measurements')
    more.add_argument(
        '--cost', action='store_true', help='operations of g and M by all three methods'
    )
    more.add_argument(
        '--speed',
        action='store_true',
        help='compare inverse dynamics with the numerical core; takes a while to compile',
    )

    def run(args: argparse.Namespace) -> None:
        path = list_file(args.model)
        report = derive_list(path, args) if path else derive(args)
        show = render_list if path else render
        print_report(report, args, show)

    return run


def derive(args: argparse.Namespace) -> Report:
    """Derive what the arguments ask for; return the report."""
    from closed_chain_dynamics.assembly.search import assemble
    from closed_chain_dynamics.symbolic.cost import OPERATION_WEIGHTS, cost
    from closed_chain_dynamics.symbolic.elimination import derive as derive_equations
    from closed_chain_dynamics.symbolic.size import readable, refuse_too_large, size_estimate

    robot = load_model(args)
    if args.gravity:
        robot.gravity = args.gravity
    q = assemble(robot, dict(args.q))
    ball = next((joint for joint in robot.description.joints if joint.type.nv > 1), None)
    method = 'ic' if ball else args.method
    unfit = f'joint {ball.name!r} is {ball.type.value}' if ball else ''
    wanted = [*args.what, *['tau_1'] * args.speed]
    size = size_estimate(robot, method, wanted, q)
    refuse_too_large(robot, size, args.longest)
    if size.seconds > ANNOUNCED_AFTER:
        print(f'{size}, {readable(size.seconds)}', file=sys.stderr)
    with _noticing_interrupts(), Bar('deriving', sys.stderr) as bar:
        step = bar and (lambda done: bar(min(done / size.operations, 0.99)))
        try:
            equations = derive_equations(robot, method, q, progress=step)
        except StructureError as error:
            if method == 'ic':
                raise
            unfit, method = f'{error.where}: {error.why}', 'ic'
            size = size_estimate(robot, method, wanted, q)
            refuse_too_large(robot, size, args.longest)
            equations = derive_equations(robot, method, q, progress=step)
        costs = {term: cost(equations, term) for term in args.what}
    report: Report = {
        'schema': SCHEMA,
        'name': robot.name,
        'file': robot.description.file,
        'method': method,
        'independent': equations.independent,
        'dependent': equations.dependent,
        'branches': equations.branches,
        'estimate': {'operations': size.operations, 'seconds': size.seconds},
        'terms': {term: _cost_record(each, OPERATION_WEIGHTS) for term, each in costs.items()},
        'cost': _cost_report(robot, q, OPERATION_WEIGHTS) if args.cost else None,
        'speed': _speed_report(equations) if args.speed else None,
        'files': {},
        'warnings': list(equations.notes),
    }
    if method != args.method:
        report['warnings'].insert(0, f'{unfit}; the equations are derived by the method ic.')
    report['files'] = _write(equations, args)
    return report


@contextmanager
def _noticing_interrupts() -> Iterator[None]:
    """Let Ctrl-C end what is within, at the latest at its end: CasADi may lose the exception."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    seen = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal seen
        seen = True
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if seen:
        raise KeyboardInterrupt


def _cost_record(cost: Cost, weights: Mapping[str, int]) -> Report:
    return {
        'operations': dict(zip(weights, cost.counts)),
        'weighted': cost.weighted,
        'seconds': cost.seconds,
    }


def _cost_report(robot: Mechanism, q: NDArray[np.float64], weights: Mapping[str, int]) -> Report:
    """Return the costs of all methods that fit, with the paper's for its own mechanism."""
    from closed_chain_dynamics.symbolic.cost import PAPER, Cost, cost_table

    rows, left_out = [], ''
    for term in ('g_1', 'M_1'):
        for method in ('te', 'de', 'ic'):
            try:
                cost = cost_table(robot, q, terms=(term,), methods=(method,))[term, method]
            except StructureError as error:
                left_out = f'TE and DE do not fit. {error.where}: {error.why}.'
                continue
            row = {'term': term, 'method': method, **_cost_record(cost, weights)}
            if robot.name == 'exo':
                row['paper'] = _cost_record(Cost(*PAPER[term, method]), weights)
            rows.append(row)
    return {'weights': weights, 'rows': rows, 'left_out': left_out}


def _speed_report(equations: ReducedEquations) -> Report:
    from closed_chain_dynamics.symbolic.speed import measure

    seconds = measure(equations)
    return {
        'seconds': seconds,
        'ratio_to_core': {kind: seconds['core'] / each for kind, each in seconds.items()},
    }


def _write(equations: ReducedEquations, args: argparse.Namespace) -> dict[str, str]:
    """Write the files that were asked for; return them by option."""
    from closed_chain_dynamics.symbolic.code import c_source, python_source
    from closed_chain_dynamics.symbolic.latex import latex_source

    return write_files(
        args,
        {
            'latex': partial(latex_source, equations, args.what),
            'python': partial(python_source, equations, args.what),
            'c': partial(c_source, equations, args.what),
        },
    )
