"""The part of ``closed-chain derive`` for models with ball, planar or free joints: C and cost."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from closed_chain_dynamics.cli.written_files import write_files
from closed_chain_dynamics.errors import StructureError

if TYPE_CHECKING:  # slow to import
    import numpy as np
    from numpy.typing import NDArray

    from closed_chain_dynamics.description.elements import Joint
    from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['SCHEMA', 'derive_traced']

SCHEMA = 'closed-chain-derive/1'  # a key that is added keeps it, one that changes ends it
ONLY_WRITTEN_OUT = ('latex', 'python', 'speed')


def derive_traced(
    robot: Mechanism, q: NDArray[np.float64], ball: Joint, args: argparse.Namespace
) -> dict[str, Any]:
    """Return the report of a model one of whose joints has several coordinates."""
    from closed_chain_dynamics.symbolic.cost import WEIGHTS
    from closed_chain_dynamics.symbolic.traced_equations import TracedEquations

    kind = f'joint {ball.name!r} is {ball.type.value}'
    for option in ONLY_WRITTEN_OUT:
        if getattr(args, option):
            raise StructureError(
                f'--{option} needs equations that are written out, and {kind}',
                where=robot.name,
                repair='Ask for --c and --cost, or write it as a chain of joints of one axis.',
            )
    equations = TracedEquations(robot, q)
    terms = {}
    for term in args.what:
        counts = equations.operations(term)
        terms[term] = {
            'operations': counts,
            'weighted': sum(count * WEIGHTS[kind] for kind, count in counts.items()),
            'seconds': equations.seconds[term],
        }
    report = {
        'schema': SCHEMA,
        'name': robot.name,
        'file': robot.description.file,
        'method': equations.method,
        'independent': equations.independent,
        'dependent': equations.dependent,
        'branches': equations.branches,
        'estimate': None,
        'terms': terms,
        'cost': None,
        'speed': None,
        'files': {},
        'warnings': [f'{kind}: equations are derived by the method ic', *equations.notes],
    }
    report['files'] = write_files(args, {'c': lambda: equations.c_source(args.what)})
    return report
