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
Base parameters: the combinations that torques depend on, by rank-revealing QR (Gautier 1991).

The columns of a stacked regressor are pivoted; those that come first are independent, and every
other is a combination of them: tau = Y_1 (pi_1 + K pi_2) = Y_1 beta.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from closed_chain_dynamics.arrays import Array
from closed_chain_dynamics.identification.parameters import Parameter

__all__ = ['BaseParameters', 'base_parameters']


RANK = 1e-7  # of the largest pivot: below it a column is a combination of others
WORTH_NAMING = 1e-6  # of a coefficient of a combination


@dataclass(frozen=True)
class BaseParameters:
    """
    beta = pi[independent] + K pi[dependent]; `names` spell it out.

    `without_effect`: parameters that no torque depends on; `combined`: those that are felt only
    together with others. Neither can be identified alone.
    """

    independent: tuple[int, ...]
    dependent: tuple[int, ...]
    K: Array  # (base, dependent)
    names: tuple[str, ...]
    without_effect: tuple[str, ...]
    combined: tuple[str, ...]

    def values(self, pi: Array) -> Array:
        """Return beta of parameters pi."""
        return np.asarray(pi[list(self.independent)] + self.K @ pi[list(self.dependent)])


def base_parameters(Y: Array, parameters: Sequence[Parameter]) -> BaseParameters:
    """Return the BaseParameters of a regressor of many states."""
    from scipy.linalg import qr, solve_triangular

    sizes = np.linalg.norm(Y, axis=0)
    felt = np.flatnonzero(sizes > RANK * sizes.max(initial=0.0) * 1e-3)
    R, pivots = qr(Y[:, felt] / sizes[felt], mode='r', pivoting=True)
    pivot = np.abs(np.diag(R))
    rank = int((pivot > RANK * pivot.max(initial=1.0)).sum())
    first, rest = np.sort(pivots[:rank]), np.sort(pivots[rank:])
    # in the order of the model, so that equal mechanisms give equal names
    order = felt[np.concatenate([first, rest])]
    R = qr(Y[:, order] / sizes[order], mode='r')[0]
    K = solve_triangular(R[:rank, :rank], R[:rank, rank:])
    K *= sizes[felt[rest]] / sizes[felt[first]][:, None]
    independent, dependent = felt[first], felt[rest]
    # a column as large as its parts: its coefficient, relative to them
    told = np.abs(K) * sizes[independent][:, None] / sizes[dependent] > WORTH_NAMING
    names = tuple(
        _spelt(
            parameters[int(i)],
            [(K[k, j], parameters[int(d)]) for j, d in enumerate(dependent) if told[k, j]],
        )
        for k, i in enumerate(independent)
    )
    alone = {int(i) for k, i in enumerate(independent) if not told[k].any()}
    return BaseParameters(
        tuple(map(int, independent)),
        tuple(map(int, dependent)),
        K,
        names,
        tuple(str(each) for k, each in enumerate(parameters) if k not in set(felt.tolist())),
        tuple(str(parameters[int(k)]) for k in felt if int(k) not in alone),
    )


def _spelt(parameter: Parameter, others: Sequence[tuple[float, Parameter]]) -> str:
    text = str(parameter)
    for factor, other in others:
        text += f' {"-" if factor < 0 else "+"} {abs(factor):.4g} {other}'
    return text
