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

"""The report of the benchmark as text for people."""

from closed_chain_dynamics.recording.terminal import number, table

__all__ = ['render']


def render(report, style):
    """Return the report for people."""
    lines = [
        style.paint(
            'Microseconds per call from Python, and how many times faster ours is', 'bold'
        ),
        '',
    ]
    load, cores = report['machine']['load'], report['machine']['cores']
    if load is not None and load > cores:
        lines += [
            style.paint(
                f'This machine is busy (load {load:.1f} on {cores} cores): trust '
                'the ratios, and those within 10 percent not even.',
                'yellow',
            ),
            '',
        ]
    for name, reason in report['missing'].items():
        lines += [
            style.paint(
                f'{name} is not measured: {reason}. "pip install pin mujoco" brings both engines.',
                'yellow',
            ),
            '',
        ]
    for model in report['models']:
        lines += _model_text(model, style)
    lines += _ladder_text(report['ladder'], style)
    rows = [
        (
            each['model'],
            each['operation'],
            each['against'],
            f'{"at most" if each["model"] == "M4_k" else "at least"} {each["wanted"]:g}',
            number(each['measured'], 3),
            ('met', 'green') if each['met'] else ('missed', 'red'),
        )
        for each in report['targets']
    ]
    lines += [
        style.paint('Targets', 'bold'),
        *_indented(
            table(('model', 'operation', 'against', 'target', 'measured', ''), rows, style)
        ),
    ]
    return '\n'.join(lines)


def _model_text(model, style):
    lines = [
        style.paint(f'{model["name"]}  {model["title"]}', 'bold')
        + f': {model["nv"]} tree degrees of freedom, {model["rows"]} rows of rank '
        f'{model["rank"]}, mobility {model["mobility"]}, {model["actuators"]} actuators'
    ]
    for engine, differences in model['agreement'].items():
        text = ', '.join(f'{what} {value:.0e}' for what, value in differences.items())
        lines.append(style.paint(f'  differs from {engine}: {text}', 'dim'))
    rows = []
    for operation, result in model['operations'].items():
        for call, time in result['times'].items():
            low, high = time['quartiles_us']
            ratio = result['ratios'].get(call)
            rows.append(
                (
                    operation if call == 'ours' else '',
                    call,
                    f'{time["median_us"]:.2f}',
                    f'{low:.2f} .. {high:.2f}',
                    f'{time["best_us"]:.2f}',
                    (f'{ratio["median"]:.2f}', 'bold') if ratio else '',
                )
            )
    heads = ('operation', 'call', 'median', 'quartiles', 'best', 'ratio')
    return lines + _indented(table(heads, rows, style)) + ['']


def _ladder_text(ladder, style):
    lines = [style.paint('M4_k  cost of a ladder of k four-bars', 'bold')]
    rows = [
        (
            str(k),
            *(
                f'{ladder[name][what][i]:.2f}'
                for name in ('forward_dynamics', 'inverse_dynamics')
                for what in ('median_us', 'us_per_four_bar')
            ),
        )
        for i, k in enumerate(ladder['k'])
    ]
    heads = ('k', 'forward', 'per four-bar', 'inverse', 'per four-bar')
    return lines + _indented(table(heads, rows, style)) + ['']


def _indented(lines):
    return ['  ' + line for line in lines]
