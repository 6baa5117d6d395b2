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
C for firmware: `model.h` and `model.c` of one mechanism, a CMake file, and a control loop.

C99, no allocation, no global state, no library but libm, no branch that depends on data except
the checks at the end: the time of a call is bounded. Every call returns a status.
"""

from dataclasses import replace
from pathlib import Path
import re
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from closed_chain_dynamics.assembly.search import assemble
from closed_chain_dynamics.codegen.build import require_casadi
from closed_chain_dynamics.codegen.cache import CODE_FOLDER
from closed_chain_dynamics.codegen.gathering import gather
from closed_chain_dynamics.codegen.source import Source
from closed_chain_dynamics.errors import GenerationError
from closed_chain_dynamics.model.mechanism import Mechanism

if TYPE_CHECKING:
    from closed_chain_dynamics.codegen.traces import Trace

__all__ = ['FILES', 'export']

FILES = ('model.h', 'model.c', 'CMakeLists.txt', 'control_loop.c')
CALLS = (
    'forward_dynamics',
    'inverse_dynamics',
    'gravity_torques',
    'complete_velocity',
    'complete_acceleration',
)


def export(
    robot: Mechanism, folder: str | Path, *, q: ArrayLike | None = None, single: bool = False
) -> dict[str, int]:
    """
    Write C for a mechanism in its present structure into a folder; return operations per call.

    `q` is a closed pose in which pivots are chosen and in which the example starts, by default an
    assembled one; `single` makes all numbers `float`.
    """
    require_casadi()
    from closed_chain_dynamics.codegen.c_text import STEP_PARTS, step_sizes
    from closed_chain_dynamics.codegen.expressions import operations
    from closed_chain_dynamics.codegen.printer import print_function
    from closed_chain_dynamics.codegen.traces import trace

    pose = assemble(robot) if q is None else robot.vector(q, robot.nq, 'q')
    source = replace(gather(robot, np.array(pose, dtype=float)), single=single)
    traces = {name: trace(source, name) for name in dict.fromkeys((*CALLS, *STEP_PARTS))}
    functions = '\n'.join(print_function(each) for each in traces.values())
    calls = [_call(traces[name]) for name in CALLS]
    sizes = step_sizes(source, [traces[name] for name in STEP_PARTS])
    head = _header(source, [prototype for prototype, _ in calls], single)
    steps = (CODE_FOLDER / 'firmware.c').read_text()
    text = [
        '#include "model.h"\n',
        (CODE_FOLDER / 'real.h').read_text().split('#else\ntypedef double real __attribute__')[0],
        '#endif\n#endif\n',
        functions,
        ''.join(f'#define {key} {value}\n' for key, value in sizes.items()),
        steps,
        *(body for _, body in calls),
        _start(source),
    ]
    files = {
        'model.h': head,
        'model.c': '\n'.join(text),
        'CMakeLists.txt': (CODE_FOLDER / 'firmware.cmake').read_text(),
        'control_loop.c': (CODE_FOLDER / 'control_loop.c').read_text(),
    }
    place = Path(folder)
    try:
        place.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (place / name).write_text(content, encoding='utf-8')
    except OSError as error:
        raise GenerationError(
            f'the C files cannot be written: {error.strerror}',
            where=str(folder),
            repair='Name a folder that can be written to.',
        ) from None
    return {name: operations(each.function) for name, each in traces.items()}


def _call(traced: 'Trace') -> tuple[str, str]:
    """Return prototype and body of a public function around a traced one."""
    values = {k: r * c for k, (r, c) in traced.outputs.items() if k not in ('margin', 'closed')}
    given = [f'const model_real *{name}' for name in traced.inputs]
    arguments = ', '.join([*given, *(f'model_real *{name}' for name in values)])
    prototype = f'enum model_status model_{traced.name}({arguments})'
    n_in, n_out = sum(traced.inputs.values()), sum(r * c for r, c in traced.outputs.values())
    lines = [f'{prototype} {{', f'  real x[{n_in + 1}], y[{n_out + 1}];', '  int at = 0, i;']
    for name, width in traced.inputs.items():
        lines.append(f'  for (i = 0; i < {width}; ++i) x[at++] = {name}[i];')
    lines += [
        '  if (!finite_numbers(x, at)) return MODEL_NOT_FINITE;',
        f'  {traced.name}(x, y);',
        '  at = 0;',
    ]
    for name, width in values.items():
        lines.append(f'  for (i = 0; i < {width}; ++i) {name}[i] = y[at++];')
    pivots = traced.outputs['margin'][0]
    closed = traced.outputs['closed'][0]
    lines += [
        f'  if (!positive_numbers(y + at, {pivots})) return MODEL_PIVOT;',
        f'  if (!positive_numbers(y + at + {pivots}, {closed})) return MODEL_LOOP_OPEN;',
        '  return finite_numbers(y, at) ? MODEL_OK : MODEL_PIVOT;',
        '}\n',
    ]
    return prototype, '\n'.join(lines)


def _names(prefix: str, names: list[str]) -> str:
    """Return an enum that gives every name its place in an array."""
    words = [re.sub(r'\W', '_', name).upper() for name in names]
    lines = [f'  {prefix}_{word} = {place},' for place, word in enumerate(words)]
    return '\n'.join(
        [f'enum {prefix.lower()} {{', *lines, f'  {prefix}_COUNT = {len(names)}', '};']
    )


def _header(source: Source, prototypes: list[str], single: bool) -> str:
    positions = [
        body.name if width == 1 else f'{body.name}_{k}'
        for body in source.bodies[1:]
        for width in [_width(source, body.iq)]
        for k in range(width)
    ]
    return '\n'.join(
        [
            f'/* {source.name}: dynamics of one structure, generated. C99, libm only. */',
            '#ifndef CLOSED_CHAIN_MODEL_H',
            '#define CLOSED_CHAIN_MODEL_H',
            '#ifdef __cplusplus',
            'extern "C" {',
            '#endif',
            '#define SINGLE_PRECISION 1' if single else '/* numbers are double */',
            f'typedef {"float" if single else "double"} model_real;',
            '/* what a call says: nothing it wrote counts unless it says MODEL_OK */',
            'enum model_status {',
            '  MODEL_OK = 0,',
            '  MODEL_NOT_FINITE = 1, /* an input is not a finite number */',
            '  MODEL_PIVOT = 2,      /* the pose is singular, or far from where pivots hold */',
            '  MODEL_LOOP_OPEN = 3   /* a loop is open, or a quaternion not of unit length */',
            '};',
            _names('MODEL_Q', positions),
            _names('MODEL_V', list(source.coordinate_names)),
            _names('MODEL_TAU', [motor.name for motor in source.motors]),
            '/* theta_G: the velocities that complete_velocity and complete_acceleration take */',
            _names('MODEL_G', source.independent_names),
            f'extern const model_real model_start[{max(source.nq, 1)}]; /* a closed pose */',
            f'extern const int model_independent[{max(len(source.independent), 1)}];',
            *(f'{each};' for each in prototypes),
            '/* q and v onto the loops, theta_G held; one step of simulation, loops closed */',
            'enum model_status model_project(model_real *q, model_real *v);',
            'enum model_status model_step(model_real *q, model_real *v, const model_real *tau,',
            '                             model_real dt);',
            'enum model_status model_step_rk4(model_real *q, model_real *v,',
            '                                 const model_real *tau, model_real dt);',
            '#ifdef __cplusplus',
            '}',
            '#endif',
            '#endif\n',
        ]
    )


def _width(source: Source, iq: int) -> int:
    later = [body.iq for body in source.bodies[1:] if body.iq > iq]
    return min(later, default=source.nq) - iq


def _start(source: Source) -> str:
    pose = ', '.join(repr(float(x)) for x in source.q) or '0'
    places = ', '.join(map(str, source.independent)) or '0'
    return (
        f'const model_real model_start[{max(source.nq, 1)}] = {{{pose}}};\n'
        f'const int model_independent[{max(len(source.independent), 1)}] = {{{places}}};\n'
    )
