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

"""That the engines give the same answers, without which their times mean nothing."""

import numpy as np

from benchmarks.timing import interleave
from closed_chain_dynamics.dynamics.forward import forward_dynamics
from closed_chain_dynamics.dynamics.inverse import inverse_dynamics
from closed_chain_dynamics.dynamics.tree import mass_matrix, newton_euler
from closed_chain_dynamics.errors import ClosedChainError

__all__ = ['agree', 'agreement_with_mujoco', 'agreement_with_pinocchio', 'best_forward']

# Relative differences. Trees differ by rounding, which the cancelling of large parts in tau_O
# amplifies (the worst is 2e-12); closed chains by rounding times the condition of the problem,
# which is 1e5 for the ladder of 64 (the worst is 4e-10).
TREE_TOLERANCE, CLOSED_TOLERANCE = 1e-10, 1e-8
# MuJoCo's answer against our equations with its softness put in (the worst is 3e-10)
SOFTENED_TOLERANCE = 1e-6
# Settings of Pinocchio that are tried: mu, iterations. What misses CLOSED_TOLERANCE is left out,
# and the fastest of the others is its best correct call. lcaba is accurate for a large mu only,
# and then needs iterations.
DENSE_SETTINGS = ((0.0, 1), (1e-12, 1), (1e-10, 1), (1e-8, 2), (1e-6, 3))
RECURSIVE_SETTINGS = tuple((mu, n) for mu in (1e-3, 1e-4, 1e-5, 1e-6) for n in (2, 3, 5, 7, 10))


def _difference(actual, expected):
    """Return the largest difference over the largest magnitude; infinity where it is no number."""
    error = np.abs(actual - expected).max() / np.abs(expected).max()
    return float(error) if np.isfinite(error) else np.inf


def agree(model, engine, differences):
    """Return the differences {what: (value, tolerance)} as values, or raise for one too large."""
    for what, (value, tolerance) in differences.items():
        if not value <= tolerance:
            raise ClosedChainError(
                f'{what} differs from that of {engine} by {value:.1e}, more than {tolerance:.0e}',
                where=f'model {model.key}',
                repair='Timings of different answers cannot be compared.',
            )
    return {what: value for what, (value, _) in differences.items()}


def agreement_with_pinocchio(model, peer):
    robot, q, v, a = model.robot, model.q, model.v, model.a
    ours = inverse_dynamics(robot, q, v, a)
    best = min(
        (_call(peer.constraint_dynamics(mu, n)) for mu, n in ((0.0, 1), (1e-10, 20))),
        key=lambda answer: _difference(a, answer),
    )
    levers = ours.coordinates.S.T
    return agree(
        model,
        'Pinocchio',
        {
            'tau_O': (
                _difference(newton_euler(robot, q, v, a), _call(peer.newton_euler())),
                TREE_TOLERANCE,
            ),
            'M': (_difference(mass_matrix(robot, q), _call(peer.mass_matrix())), TREE_TOLERANCE),
            'acceleration': (_difference(a, best), CLOSED_TOLERANCE),
            'tau_A': (_difference(ours.tau_A, peer.inverse_by_null_space()), CLOSED_TOLERANCE),
            # of least norm with the loop forces instead of alone: only its effect is the same
            'S^T tau_A': (
                _difference(levers @ peer.inverse_by_least_squares(), ours.tau_G),
                CLOSED_TOLERANCE,
            ),
        },
    )


def agreement_with_mujoco(model, peer):
    robot, q, rest = model.robot, model.q, np.zeros(model.robot.nv)
    theirs = peer.acceleration_at_rest()
    force = model.tau - newton_euler(robot, q, rest, rest)
    softened = peer.softened(mass_matrix(robot, q), force)
    result = agree(
        model,
        'MuJoCo',
        {
            'M': (_difference(mass_matrix(robot, q), peer.mass_matrix_ours()), TREE_TOLERANCE),
            'acceleration as soft as theirs': (_difference(softened, theirs), SOFTENED_TOLERANCE),
        },
    )
    rigid = forward_dynamics(robot, q, rest, model.tau_A).acceleration
    peer.set_state(model.v)
    return {**result, 'acceleration': _difference(theirs, rigid)}


def _call(call):
    function, arguments = call
    return np.array(function(*arguments))


def best_forward(model, peer):
    """Return Pinocchio's fastest correct settings of each algorithm, {name: call}."""
    kinds = {'constraintDynamics': (peer.constraint_dynamics, DENSE_SETTINGS)}
    if not peer.on_world:
        kinds['lcaba'] = (peer.recursive_dynamics, RECURSIVE_SETTINGS)
    best = {}
    for kind, (make, settings) in kinds.items():
        correct = {}
        for mu, iterations in settings:
            call = make(mu, iterations)
            _call(call)  # lcaba starts from what the last call left
            if _difference(_call(call), model.a) <= CLOSED_TOLERANCE:
                correct[f'pinocchio {kind}, mu {mu:g}, iterations {iterations}'] = call
        if correct:
            times = interleave(correct, 0.1)
            name = min(correct, key=lambda each: np.median(times[each]))
            best[name] = correct[name]
    return best
