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
Derivatives of inverse dynamics and of a simulation step, by the state and by parameters.

Each traced function is differentiated exactly by CasADi along one direction; all directions go
through it as a batch, and the chain rule joins the functions. Loops stay closed: a motion of
theta_G, or a longer link, takes theta_S with it by one Newton step, whose derivative is exact at a
closed pose. Small motions of spherical, planar and free joints are in the moving frame.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from closed_chain_dynamics.arrays import Array
from closed_chain_dynamics.codegen.build import require_casadi
from closed_chain_dynamics.codegen.chain_rule import Pushed, TracedChain
from closed_chain_dynamics.codegen.gathering import gather
from closed_chain_dynamics.codegen.rollouts import GENERATED_INTEGRATORS
from closed_chain_dynamics.dynamics.actuation import actuator_vector
from closed_chain_dynamics.dynamics.forward import forward_dynamics
from closed_chain_dynamics.errors import NameNotFound, StateError
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['InverseDerivatives', 'StepDerivatives', 'inverse_derivatives', 'step_derivatives']

NEWTON_STEPS = 2  # that close the loops after a step
RK4_SHARES = (1.0, 2.0, 2.0, 1.0)  # of the four stages of Runge and Kutta


@dataclass(frozen=True, eq=False)
class InverseDerivatives:
    """
    Derivatives of tau_A at one motion.

    `wrt_q`, `wrt_v`, `wrt_a` (actuators, nv): on the tree, along the tangent of q, v and a.
    `G_q`, `G_v`, `G_a` (actuators, mobility): on the closed chain, by a small motion of theta_G,
    theta_G' and theta_G'', each with the two others held. `wrt_parameters` (actuators, n): with
    all three held.
    """

    tau_A: Array
    wrt_q: Array
    wrt_v: Array
    wrt_a: Array
    G_q: Array
    G_v: Array
    G_a: Array
    wrt_parameters: Array
    independent: list[str]
    parameters: list[str]


@dataclass(frozen=True, eq=False)
class StepDerivatives:
    """
    Derivatives of one step of a simulation, from q and v to `q_next` and `v_next`.

    `A` (2 m, 2 m), `B` (2 m, actuators), `wrt_parameters` (2 m, n): x_next = A x + B tau, where x
    is a small motion of theta_G and its rate. On the manifold, `q_slopes` and `v_slopes`
    (nv, 2 m + actuators + n): tangent of q_next, and v_next, by the same directions.
    """

    q_next: Array
    v_next: Array
    A: Array
    B: Array
    wrt_parameters: Array
    q_slopes: Array
    v_slopes: Array
    independent: list[str]
    parameters: list[str]


def _zeros(value: Array, n: int) -> Pushed:
    return value, np.zeros((len(value), n))


def inverse_derivatives(
    robot: Mechanism, q: ArrayLike, v: ArrayLike, a: ArrayLike, parameters: Sequence[str] = ()
) -> InverseDerivatives:
    """
    Return the derivatives of tau_A at a motion that the loops allow.

    `parameters`: names such as 'mass:arm', 'inertia:arm', 'length:arm', 'stiffness:coil',
    'rest:coil', 'damping:elbow', 'armature:elbow'.
    """
    require_casadi()
    pose, rate, acceleration = (
        np.array(robot.vector(x, n, what))
        for x, n, what in ((q, robot.nq, 'q'), (v, robot.nv, 'v'), (a, robot.nv, 'a'))
    )
    forward_dynamics(robot, pose, rate)  # refuses what the core refuses
    nv, count = robot.nv, len(parameters)
    tree = TracedChain(robot, pose, (), 3 * nv)
    unit = np.eye(3 * nv)
    tau, slopes = tree(
        'inverse_dynamics',
        'tau_A',
        q=(pose, tree.tangents(pose) @ unit[:nv]),
        v=(rate, unit[nv : 2 * nv]),
        a=(acceleration, unit[2 * nv :]),
    )
    G = list(tree.plain.independent)
    m = len(G)
    n = 3 * m + count
    chain = TracedChain(robot, pose, parameters, n)
    moved, moving = chain.closed(pose, rate, n)
    da = np.zeros((m, n))
    da[:, 2 * m : 3 * m] = np.eye(m)
    rates = acceleration[G], da
    accelerated = chain('complete_acceleration', 'a', q=moved, v=moving, rates=rates)
    _, closed = chain('inverse_dynamics', 'tau_A', q=moved, v=moving, a=accelerated)
    wrt_q, wrt_v, wrt_a = np.split(slopes, [nv, 2 * nv], axis=1)
    G_q, G_v, G_a, by_parameters = np.split(closed, [m, 2 * m, 3 * m], axis=1)
    names = tree.plain.independent_names
    return InverseDerivatives(
        tau, wrt_q, wrt_v, wrt_a, G_q, G_v, G_a, by_parameters, names, list(parameters)
    )


def step_derivatives(
    robot: Mechanism,
    q: ArrayLike,
    v: ArrayLike,
    tau: Any = None,
    *,
    dt: float = 1e-3,
    integrator: str = 'rk4',
    parameters: Sequence[str] = (),
) -> StepDerivatives:
    """
    Return the derivatives of one whole step from a closed state; events are not in it.

    The step is that of a Simulation with tolerance=inf, loops closed after it; friction acts as a
    smooth function of the speed.
    """
    require_casadi()
    if integrator not in GENERATED_INTEGRATORS:
        raise NameNotFound('integrator', integrator, GENERATED_INTEGRATORS, where=robot.name)
    if not dt > 0.0:
        raise StateError(
            f'the step dt must be a positive time, not {dt!r}',
            where=robot.name,
            repair='Give it in seconds, for example dt=1e-3.',
        )
    forward_dynamics(robot, q, v, tau)  # refuses what the core refuses
    pose, rate = np.array(robot.vector(q, robot.nq, 'q')), robot.vector(v, robot.nv, 'v')
    torques = actuator_vector(robot, tau, 'tau')
    na, count = len(torques), len(parameters)
    m = len(gather(robot, pose).independent)
    n = 2 * m + na + count
    chain = TracedChain(robot, pose, parameters, n)
    start, moving = chain.closed(pose, np.array(rate), n)
    pushed = torques, np.zeros((na, n))
    pushed[1][:, 2 * m : 2 * m + na] = np.eye(na)
    step = _rk4 if integrator == 'rk4' else _euler
    end, speed = step(chain, start, moving, pushed, dt)
    if chain.plain.rows:
        for _ in range(NEWTON_STEPS):
            end = chain('newton_step', 'q_next', q=end)
        speed = chain('settle_velocity', 'v_next', q=end, v=speed)
    motions = np.asarray(
        np.linalg.lstsq(chain.tangents(end[0]), end[1], rcond=None)[0], dtype=np.float64
    )
    G = list(chain.plain.independent)
    x = np.concatenate([motions[G], speed[1][G]])
    A, B, by_parameters = np.split(x, [2 * m, 2 * m + na], axis=1)
    names = chain.plain.independent_names
    return StepDerivatives(
        end[0], speed[0], A, B, by_parameters, motions, speed[1], names, list(parameters)
    )


def _add(*terms: tuple[float, Pushed]) -> Pushed:
    return sum(f * x for f, (x, _) in terms), sum(f * dx for f, (_, dx) in terms)  # type: ignore


def _euler(
    chain: TracedChain, q: Pushed, v: Pushed, tau: Pushed, dt: float
) -> tuple[Pushed, Pushed]:
    """Return pose and velocity after a semi-implicit step, loops not closed."""
    a = chain('forward_dynamics', 'acceleration', q=q, v=v, tau=tau)
    faster = _add((1.0, v), (dt, a))
    still = _zeros(np.zeros(len(v[0])), v[1].shape[1])
    rate = chain('local_rate', 'rate', q=q, v=faster, u=still)
    return chain('advance', 'q_next', q=q, u=_add((dt, rate))), faster


def _rk4(
    chain: TracedChain, q: Pushed, v: Pushed, tau: Pushed, dt: float
) -> tuple[Pushed, Pushed]:
    """Return pose and velocity after a step of Runge and Kutta, loops not closed."""
    u = _zeros(np.zeros(len(v[0])), v[1].shape[1])
    stage_q, stage_v, moved, gained = q, v, [], []
    for number, share in enumerate(RK4_SHARES):
        a = chain('forward_dynamics', 'acceleration', q=stage_q, v=stage_v, tau=tau)
        rate = chain('local_rate', 'rate', q=stage_q, v=stage_v, u=u)
        moved.append((share * dt / 6.0, rate))
        gained.append((share * dt / 6.0, a))
        if number < 3:
            h = dt if number == 2 else 0.5 * dt
            u, stage_v = _add((h, rate)), _add((1.0, v), (h, a))
            stage_q = chain('advance', 'q_next', q=q, u=u)
    return chain('advance', 'q_next', q=q, u=_add(*moved)), _add((1.0, v), *gained)
