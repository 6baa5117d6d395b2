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
Dynamics of closed kinematic chains whose structure changes while they move.

The rooms, each of which imports only those before it: `arrays` and `errors`; `description` reads
files into frozen dataclasses; `kernels` is the compiled code on tables of named records; `model`
is Model, Structure, Workspace and the Mechanism that holds them, and connects and cuts; `dynamics`
is the mathematics of one state: the tree after the virtual cut, rank, theta_G, H, W and S,
torques, accelerations, reactions, impacts; `assembly` closes loops; `codegen` writes all of this
as C for one mechanism; `recording` keeps what happened; `simulation` makes it happen; `symbolic`
writes equations; `control` gives torques for a reference; `studies` asks what takes many
computations; `identification` finds parameters from data; `viewer` shows, `ros` carries messages,
and `cli` is the command line.
"""

import closed_chain_dynamics.starting  # noqa: F401 (before the imports that take their time)

# isort: split
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from closed_chain_dynamics.public import *  # noqa: F403

__version__ = '1.0.0'


def __getattr__(name: str) -> Any:
    """
    Return a room, or a public name, all of which are loaded when the first is asked for.

    Importing the package alone stays instant, so that help on the command line and completion in
    a shell do not wait for compiled kernels that they never call.
    """
    if name == '__all__' or not name.startswith('_'):  # tools ask for names that nobody has
        if name in (each.name for each in iter_modules(__path__)):  # noqa: F405
            return import_module(f'{__name__}.{name}')
        public = import_module(f'{__name__}.public')
        globals().update({each: getattr(public, each) for each in ('__all__', *public.__all__)})
    if name in globals():
        return globals()[name]
    raise AttributeError(f'module {__name__!r} has no attribute {name!r}', name=name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__getattr__('__all__')})
