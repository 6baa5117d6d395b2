"""
Adaptive integration by SciPy, on local coordinates that start anew at every step.

A step's unknowns are u (see kernels/step.py), the velocities and the energy books. Loops are
closed again after every accepted step, so that its dense output spans two closed states.
"""

import numpy as np

from . import kernels
from .forward_dynamics import NO_FORCE
from .kernels import layout as at

__all__ = ['adaptive_run']


def adaptive_run(sim, torques, forces, steps):
    """Advance a simulation by `steps` times dt, with inner steps as the tolerance asks for."""
    from scipy.integrate import DOP853   # slow to import
    robot, nv = sim.robot, sim.robot.nv
    a, rate, q_stage = np.empty(nv), np.empty(nv), np.empty(robot.nq)

    def slope(_, x):
        u, v = x[:nv].copy(), x[nv:2 * nv].copy()
        kernels.advance(robot.mi, sim.q, u, q_stage)
        status = kernels.forward_dynamics(robot.mi, robot.mf, robot.w, q_stage, v, torques,
                                          NO_FORCE, forces, a)
        if status:
            sim._raise(status)
        kernels.local_rate(robot.mi, q_stage, v, u, rate)
        return np.concatenate([rate, a, robot.table(at.WORLD_W)[0, [at.POWER, at.DISSIPATION]]])

    for _ in range(steps):
        end = sim.time + sim.dt
        first = sim.dt
        while sim.time < end:
            start = np.concatenate([np.zeros(nv), sim.v, sim._books])
            solver = DOP853(slope, sim.time, start, end, rtol=sim.tolerance,
                            atol=1e-3 * sim.tolerance,
                            first_step=min(first, end - sim.time))
            solver.step()
            if solver.status == 'failed':
                sim._raise(at.NOT_FINITE)
            first = solver.step_size
            q = np.empty(robot.nq)
            kernels.advance(robot.mi, sim.q, solver.y[:nv].copy(), q)
            v = solver.y[nv:2 * nv].copy()
            status = kernels.close_loops(robot.mi, robot.mf, robot.w, q, v, sim._work)
            if status:
                sim._raise(status)
            sim.q, sim.v, sim._books = q, v, solver.y[2 * nv:].copy()
            sim.time = float(solver.t)
        sim.time = end
        sim._log_now(torques)
