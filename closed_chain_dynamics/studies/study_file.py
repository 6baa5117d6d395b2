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

"""Study files: an experiment in YAML."""

from collections.abc import Mapping
import reprlib
from typing import Any

from closed_chain_dynamics.errors import ClosedChainError, NameNotFound
from closed_chain_dynamics.recording.log_files import Path
from closed_chain_dynamics.studies.parameters import Variation
from closed_chain_dynamics.studies.responses import Response
from closed_chain_dynamics.studies.sampling import read_variation

__all__ = ['read_study']

BY_NAME_KEYS = ('q', 'v', 'tau', 'kp', 'kd', 'target', 'connect', 'cut')
NUMBER_KEYS = {'time': 'duration', 'dt': 'dt', 'samples': 'samples', 'seed': 'seed'}
TEXT_KEYS = {'design': 'kind', 'integrator': 'integrator'}
SHOWN_OF_VALUE = 200  # characters of a value that is refused
STUDY_KEYS = ('vary', 'responses', *BY_NAME_KEYS, *NUMBER_KEYS, *TEXT_KEYS)


def read_study(path: Path) -> dict[str, Any]:
    """
    Return arguments of Experiment from a YAML file.

    `vary`: {parameter: values}, a list, a number, or a text as on the command line; `responses`:
    {name: expression}; `q`, `v`, `tau`, ...: {name: number}; `time`, `dt`, `samples`, `seed`,
    `design`.
    """
    import yaml

    try:
        with open(path, encoding='utf-8') as file:
            given = yaml.safe_load(file)
    except RecursionError:
        raise _refused(path, 'the study is nested too deep') from None
    except (OSError, ValueError, yaml.YAMLError) as error:
        why = getattr(error, 'strerror', None) or ' '.join(str(error).split())
        raise _refused(path, f'the study cannot be read: {why}') from None
    if not isinstance(given, Mapping):
        raise _refused(path, 'a study must map keys to values')
    for key in given:
        if key not in STUDY_KEYS:
            raise NameNotFound('entry of a study', key, STUDY_KEYS, file=path)
    arguments: dict[str, Any] = {}
    try:
        for key, value in given.items():
            if key == 'vary':
                arguments['variations'] = tuple(
                    _variation(label, values) for label, values in value.items()
                )
            elif key == 'responses':
                arguments['responses'] = tuple(
                    Response(str(k), _text(v)) for k, v in value.items()
                )
            elif key in BY_NAME_KEYS:
                arguments[key] = {str(name): float(number) for name, number in value.items()}
            elif key in TEXT_KEYS:
                arguments[TEXT_KEYS[key]] = _text(value)
            else:
                kind = _whole if key in ('samples', 'seed') else float
                arguments[NUMBER_KEYS[key]] = kind(value)
    except (AttributeError, OverflowError, RecursionError, TypeError, ValueError):
        # aliases of YAML may stand for more than memory holds: a part of it is written out
        shown = reprlib.repr(value)[:SHOWN_OF_VALUE]
        raise _refused(path, f'{key!r} has a value that cannot be read: {shown}') from None
    return arguments


def _text(value: Any) -> str:
    """Return a value as text; lists of lists may stand for more than memory holds."""
    if isinstance(value, list | dict):
        raise TypeError
    return str(value)


def _whole(value: Any) -> int:
    if int(value) != float(value):
        raise ValueError
    return int(value)


def _refused(path: Path, why: str) -> ClosedChainError:
    return ClosedChainError(
        why,
        file=path,
        repair='Write for instance vary: {mass:arm: [1, 2], damping:swing: uniform(0, 0.1)} and '
        'responses: {peak: max(abs(v.swing))}.',
    )


def _variation(label: str, values: Any) -> Variation:
    """Return a Variation from an entry of `vary`."""
    values = ','.join(map(_text, values)) if isinstance(values, list) else _text(values)
    return read_variation(f'{label}={values}')
