"""Scratch of the kernels: what one computation writes, and the forces from outside it reads."""

import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics.kernels import records as at
from closed_chain_dynamics.model.model import Model, Records

__all__ = ['Workspace']


class Workspace:
    """
    Tables that every computation writes anew: for one thread.

    `totals` is a single record. `torques` (actuators,) are tau_A; loads and forces on the
    coordinates are given through the mechanism, whose handle says how many there are.
    """

    def __init__(self, model: Model) -> None:
        n, room, rows = len(model.bodies), model.room, model.max_rows
        self._totals = np.zeros(1, at.TOTALS)
        self.moving, self.inertias = np.zeros(n, at.MOVING), np.zeros(n, at.INERTIA)
        self.columns = np.zeros(room, at.COLUMN)
        self.frames, self.rows = np.zeros(len(model.loops), at.FRAME), np.zeros(rows, at.ROW)
        self.loop_columns = np.zeros(len(model.loop_dofs), at.LOOP_COLUMN)
        self.zeros, self.tau, self.drift = np.zeros(room), np.zeros(room), np.zeros(room)
        self.torques = np.zeros(len(model.actuators))
        self.extra, self.loads = np.zeros(room), np.zeros(0, at.LOAD)
        # per cluster the augmented constraint matrix and a few square matrices; the worst case is
        # that all joints form one cluster
        self.scratch = np.zeros(rows * (room + 1 + rows) + 2 * room * room + 8 * room + n)

    @property
    def totals(self) -> np.void:
        """Return the shift of the origin, energies and powers."""
        record: np.void = self._totals[0]
        return record

    def tables(self) -> dict[str, NDArray[np.generic] | Records]:
        """Return all tables with all their room, by their names in a handle."""
        return {
            'totals': self._totals,
            'moving': self.moving,
            'inertias': self.inertias,
            'columns': self.columns,
            'frames': self.frames,
            'rows': self.rows,
            'loop_columns': self.loop_columns,
            'zeros': self.zeros,
            'tau': self.tau,
            'drift': self.drift,
            'torques': self.torques,
            'extra': self.extra,
            'loads': self.loads,
            'scratch': self.scratch,
        }
