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

"""CasADi functions of a mechanism, for people who write their own optimisation with it."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from closed_chain_dynamics.assembly.search import assemble
from closed_chain_dynamics.codegen.build import require_casadi
from closed_chain_dynamics.codegen.gathering import gather
from closed_chain_dynamics.codegen.sensitivities import NEWTON_STEPS, RK4_SHARES
from closed_chain_dynamics.codegen.source import Source
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['casadi']


def casadi(robot: Mechanism, q: ArrayLike | None = None) -> dict[str, Any]:
    """
    Return casadi.Function objects of a mechanism in its present structure, by name.

    Inputs and outputs have names: `f['forward_dynamics'](q=q, v=v, tau=tau)['acceleration']`.
    Every entry of `margin` and `closed` is positive where the answer counts. `q` is the closed
    pose in which pivots are chosen, by default an assembled one.
    """
    require_casadi()
    from closed_chain_dynamics.codegen.traces import TRACES, trace

    pose = assemble(robot) if q is None else robot.vector(q, robot.nq, 'q')
    source = gather(robot, np.array(pose, dtype=float))
    functions = {name: trace(source, name).function for name in TRACES}
    functions['project'] = _project(source, functions)
    functions['step'] = _step(source, functions)
    functions['step_rk4'] = _step_rk4(source, functions)
    return functions


def _project(source: Source, f: dict[str, Any]) -> Any:
    """Return q and v on the loops: theta_G stays, theta_S follows by Newton's method."""
    import casadi as ca

    q, v = ca.MX.sym('q', source.nq), ca.MX.sym('v', source.nv)
    closed = q
    for _ in range(NEWTON_STEPS):
        closed = f['newton_step'](q=closed)['q_next']
    settled = f['settle_velocity'](q=closed, v=v)
    return ca.Function(
        'project',
        [q, v],
        [closed, settled['v_next'], ca.vertcat(settled['margin'], settled['closed'])],
        ['q', 'v'],
        ['q_next', 'v_next', 'margin'],
    )


def _finish(source: Source, f: dict[str, Any], name: str, q: Any, v: Any, given: list[Any]) -> Any:
    import casadi as ca

    on_loops = f['project'](q=q, v=v)
    return ca.Function(
        name,
        given,
        [on_loops['q_next'], on_loops['v_next'], on_loops['margin']],
        ['q', 'v', 'tau', 'dt'],
        ['q_next', 'v_next', 'margin'],
    )


def _symbols(source: Source) -> list[Any]:
    import casadi as ca

    sizes = {'q': source.nq, 'v': source.nv, 'tau': len(source.motors), 'dt': 1}
    return [ca.MX.sym(name, size) for name, size in sizes.items()]


def _step(source: Source, f: dict[str, Any]) -> Any:
    """Return one step of the semi-implicit Euler method, loops closed."""
    q, v, tau, dt = given = _symbols(source)
    faster = v + dt * f['forward_dynamics'](q=q, v=v, tau=tau)['acceleration']
    rate = f['local_rate'](q=q, v=faster, u=np.zeros(source.nv))['rate']
    moved = f['advance'](q=q, u=dt * rate)['q_next']
    return _finish(source, f, 'step', moved, faster, given)


def _step_rk4(source: Source, f: dict[str, Any]) -> Any:
    """Return one step of the classical Runge-Kutta method, loops closed."""
    q, v, tau, dt = given = _symbols(source)
    stage_q, stage_v, u = q, v, np.zeros(source.nv)
    du, dv = 0.0, 0.0
    for number, share in enumerate(RK4_SHARES):
        a = f['forward_dynamics'](q=stage_q, v=stage_v, tau=tau)['acceleration']
        rate = f['local_rate'](q=stage_q, v=stage_v, u=u)['rate']
        du, dv = du + share * rate, dv + share * a
        if number < 3:
            h = dt if number == 2 else dt / 2
            u, stage_v = h * rate, v + h * a
            stage_q = f['advance'](q=q, u=u)['q_next']
    moved = f['advance'](q=q, u=dt / 6 * du)['q_next']
    return _finish(source, f, 'step_rk4', moved, v + dt / 6 * dv, given)
