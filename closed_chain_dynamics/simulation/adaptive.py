"""
Adaptive integration by SciPy, on local coordinates that start anew at every step.

A step's unknowns are u (see kernels/step.py), the velocities and the energy books. Loops are
closed again after every accepted step, so that its dense output spans two closed states. Events of
contacts are found on the dense output.
"""

import numpy as np

from closed_chain_dynamics import kernels
from closed_chain_dynamics.dynamics.forward import NO_FORCE
from closed_chain_dynamics.kernels import layout as at

__all__ = ['adaptive_run']

SHORTEST = 1e-6  # share of dt below which a step that leaves the loops open is an error


def adaptive_run(sim, steps):
    """Advance a simulation by `steps` times dt, with inner steps as the tolerance asks for."""
    for _ in range(steps):
        end, first = sim._tick(1), sim.dt
        while sim.time < end:
            first = _inner_step(sim, end, first)
        sim.time = end
        if sim._count(1):
            sim._log_now(sim._torques)


def _inner_step(sim, end, first):
    """Take one step of the adaptive method, up to an event; return the size of the next."""
    from scipy.integrate import DOP853  # slow to import

    robot, nv = sim.robot, sim.robot.nv
    a, rate, q_stage, base = np.empty(nv), np.empty(nv), np.empty(robot.nq), sim.q.copy()
    locked = []

    def slope(_, x):
        if not np.all(np.isfinite(x)):
            return np.full(2 * nv + 2, np.nan)
        u, v = x[:nv].copy(), x[nv : 2 * nv].copy()
        kernels.advance(robot.mi, base, u, q_stage)
        status = kernels.forward_dynamics(
            robot.mi, robot.mf, robot.w, q_stage, v, sim._torques, NO_FORCE, sim._forces, a
        )
        if status == at.LOCKED:  # a step too far ahead: the method takes a shorter one
            locked.append(status)
            return np.full(2 * nv + 2, np.nan)
        if status:
            sim._raise(status)
        kernels.local_rate(robot.mi, q_stage, v, u, rate)
        return np.concatenate([rate, a, robot.table(at.WORLD_W)[0, [at.POWER, at.DISSIPATION]]])

    def close(t, x):
        """Put the simulation into a state of this step, its loops closed; return a status."""
        q, v = np.empty(robot.nq), x[nv : 2 * nv].copy()
        kernels.advance(robot.mi, base, x[:nv].copy(), q)
        status = kernels.close_loops(robot.mi, robot.mf, robot.w, q, v, sim._work)
        if not status:
            sim.q, sim.v, sim._books, sim.time = q, v, x[2 * nv :].copy(), float(t)
        return status

    def take(t, x):
        """Go to a state of this step; return the signs of the contacts there."""
        status = close(t, x)
        if status:
            sim._raise(status)
        return sim.contacts._evaluate() if sim.contacts.loops else np.ones((1, 2))

    start = np.concatenate([np.zeros(nv), sim.v, sim._books])
    solver = DOP853(
        slope,
        sim.time,
        start,
        end,
        rtol=sim.tolerance,
        atol=1e-3 * sim.tolerance,
        first_step=min(first, end - sim.time),
    )
    with np.errstate(all='ignore'):  # what is not finite ends the run with an error of our own
        solver.step()
    if solver.status == 'failed':
        sim._raise(locked[-1] if locked else at.NOT_FINITE)
    dense, late, state = solver.dense_output(), solver.t, solver.y
    # where loops are hardly independent, only a small error can be taken out of them again
    while close(late, state) and late - solver.t_old > SHORTEST * sim.dt:
        late = 0.5 * (solver.t_old + late)
        state = dense(late)
    if take(late, state).min() < 0.0:
        early = solver.t_old
        while late - early > kernels.EVENT_TIME + 4.0 * np.spacing(late):
            middle = 0.5 * (early + late)
            if take(middle, dense(middle)).min() < 0.0:
                late = middle
            else:
                early = middle
        sim._happened(sim.contacts.handle(take(late, dense(late))))
    elif sim.contacts.loops:
        kernels.note_directions(robot.mi, robot.mf, robot.w)
    # what the method proposes next, larger or smaller, unless the loops asked for less
    return solver.h_abs if late == solver.t else late - solver.t_old
