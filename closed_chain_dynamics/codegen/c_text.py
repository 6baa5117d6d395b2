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

"""The C text of a library: generated functions, the sizes that drivers need, and the driver."""

from typing import Any

from closed_chain_dynamics.codegen.cache import CODE_FOLDER, DERIVATIVES, RUN_LIBRARY, STEP_LIBRARY
from closed_chain_dynamics.codegen.printer import print_function
from closed_chain_dynamics.codegen.slope_tables import Slopes
from closed_chain_dynamics.codegen.source import Source, counted_loops
from closed_chain_dynamics.codegen.traces import Trace, trace, traced
from closed_chain_dynamics.kernels import fine_steps, holds, loop_closing

__all__ = ['STEP_PARTS', 'c_text', 'step_sizes']

STEP_PARTS = ('forward_dynamics', 'local_rate', 'advance', 'newton_step', 'settle_velocity')
NO_SHAPES: dict[str, Any] = {'inputs': {}, 'outputs': {}, 'kept': 0}  # of several functions
KEEPS_INPUTS = 'forward_dynamics'  # constraint forces need them, if they are asked for
RUN_PARTS = ('slopes', 'local_rate', 'advance', 'closing', 'look')


def c_text(source: Source, name: str) -> tuple[str, dict[str, Any]]:
    """Return the C text of a function with its driver, and its shapes."""
    if name == STEP_LIBRARY:
        parts = [trace(source, each) for each in STEP_PARTS]
        text = ''.join(print_function(each, together=True) for each in parts)
        return _joined(text, 'roll.c', step_sizes(source, parts)), NO_SHAPES
    if name == RUN_LIBRARY:
        traces = {each: trace(source, each) for each in RUN_PARTS}
        text = ''.join(print_function(each, together=True) for each in traces.values())
        text = _joined(text, 'run.c', run_sizes(source, traces))
        return f'#include <string.h>\n{text}', NO_SHAPES
    if name == DERIVATIVES:
        return _derivatives(source)
    found = trace(source, name)
    values = {k: s for k, s in found.outputs.items() if k not in ('margin', 'closed')}
    n_values = sum(r * c for r, c in values.values())
    n_all = sum(r * c for r, c in found.outputs.values())
    n_inputs = sum(found.inputs.values())
    kept = n_inputs if name == KEEPS_INPUTS else 0
    defined = {
        'FUNCTION': name,
        'NX': n_inputs,
        'KEPT': kept,
        'NY': n_values,
        'NM': n_all - n_values,
        'INPUTS': len(found.inputs),
        'WIDTHS': '{' + ', '.join(map(str, found.inputs.values())) + '}',
    }
    described = {'inputs': found.inputs, 'outputs': values, 'kept': kept}
    return _joined(print_function(found, together=True), 'call.c', defined), described


def _derivatives(source: Source) -> tuple[str, dict[str, Any]]:
    """Return the C text of derivatives: generated numbers, tables, and loops over both."""
    slopes, nv = Slopes(source), source.nv
    numbers = traced('slope_numbers', *slopes.numbers())
    shape = nv * (2 * nv + len(source.motors) + len(source.independent)), 1
    defined = {
        'FUNCTION': DERIVATIVES,
        'NX': sum(numbers.inputs.values()),
        'KEPT': 0,
        'NY': shape[0],
        'NM': 1,
        'INPUTS': len(numbers.inputs),
        'WIDTHS': '{' + ', '.join(map(str, numbers.inputs.values())) + '}',
        'ROOM': 'static _Thread_local',
    }
    size = f'#define NUMBERS {numbers.outputs["numbers"][0]}\n'
    loops = (CODE_FOLDER / 'differentiate.c').read_text()
    text = f'{print_function(numbers, together=True)}\n{size}{slopes.tables()}\n{loops}'
    described = {'inputs': numbers.inputs, 'outputs': {'slopes': shape}, 'kept': 0}
    return _joined(text, 'call.c', defined), described


def step_sizes(source: Source, parts: list[Trace]) -> dict[str, int]:
    """Return the sizes that the driver of a simulation step needs."""
    forward, _, _, newton, settle = parts
    open_margins = forward.outputs['margin'][0]
    return {
        'NQ': source.nq,
        'NV': source.nv,
        'NA': forward.inputs['tau'],
        'NF': open_margins + forward.outputs['closed'][0],
        'NF_OPEN': open_margins,
        'NN': newton.outputs['margin'][0],
        'NS': settle.outputs['margin'][0] + settle.outputs['closed'][0],
        'LOOPS': int(source.rows > 0),
    }


def run_sizes(source: Source, traces: dict[str, Trace]) -> dict[str, Any]:
    """Return sizes and bounds that the driver of a run needs."""
    closing, couplings = traces['closing'].outputs, len(source.couplings)
    return {
        'NQ': source.nq,
        'NV': source.nv,
        'NA': len(source.motors),
        'NS': traces['slopes'].outputs['margin'][0],
        'NE': closing['errors'][0],
        'NL': closing['errors'][0] - couplings,
        'NF': closing['flips'][0],
        'NC': closing['margin'][0],
        'NW': len(source.watched),
        'NR': sum(w.rubs for w in source.watched),
        'NT': len(counted_loops(source)),
        'REDUNDANT_ROWS': int(source.nv - len(source.independent) < source.rows),
        'CLOSED': loop_closing.CLOSED,
        'CLOSING_STEPS': loop_closing.CLOSING_STEPS,
        'STANDSTILL': loop_closing.STANDSTILL,
        'ROUNDING': fine_steps.ENERGY_ROUNDING,
        'EASILY': fine_steps.EASILY,
        'TURNING': holds.TURNING,
        'TOUCHING': holds.TOUCHING,
        'PASSED': holds.PASSED,
        'QUARTER': holds.QUARTER,
    }


def _joined(functions: str, driver: str, defined: dict[str, Any]) -> str:
    lines = ''.join(f'#define {key} {value}\n' for key, value in defined.items())
    texts = [(CODE_FOLDER / name).read_text() for name in ('real.h', 'lanes.h', driver)]
    return '\n'.join([*texts[:2], functions, lines, texts[2]])
