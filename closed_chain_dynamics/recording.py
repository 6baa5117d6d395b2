"""The log of a simulation: samples in arrays, events beside them."""

import csv

import numpy as np

__all__ = ['Log']

COLUMNS = ('time', 'kinetic', 'potential', 'work', 'dissipated', 'loop_error')


class Log:
    """
    Samples of a run: time, q, v, energies, loop error; and the events.

    Every attribute is an array with one row per sample. At an event there are two samples of the
    same time: before and after.
    """

    def __init__(self, robot):
        self.robot = robot
        self.events = []
        self._rows, self._q, self._v, self._lost = [], [], [], []

    def append(self, rows, q, v, lost):
        """Add samples: rows as the kernels write them, configurations and velocities."""
        self._rows.append(np.array(rows))
        self._q.append(np.array(q))
        self._v.append(np.array(v))
        self._lost.append(np.full(len(rows), lost))

    def __len__(self):
        return sum(len(rows) for rows in self._rows)

    def _column(self, name):
        if not self._rows:
            return np.zeros(0)
        return np.concatenate([rows[:, COLUMNS.index(name)] for rows in self._rows])

    @property
    def time(self):
        """Return the time of every sample [s]."""
        return self._column('time')

    @property
    def q(self):
        """Return the configuration of every sample, (samples, nq)."""
        return np.concatenate(self._q) if self._q else np.zeros((0, self.robot.nq))

    @property
    def v(self):
        """Return the velocities of every sample, (samples, nv)."""
        return np.concatenate(self._v) if self._v else np.zeros((0, self.robot.nv))

    @property
    def kinetic(self):
        """Return the kinetic energy of every sample [J]."""
        return self._column('kinetic')

    @property
    def potential(self):
        """Return the potential energy, gravity, springs and limits, of every sample [J]."""
        return self._column('potential')

    @property
    def work(self):
        """Return the work that motors and external forces have put in [J]."""
        return self._column('work')

    @property
    def dissipated(self):
        """Return the energy that damping and friction have taken [J]."""
        return self._column('dissipated')

    @property
    def lost(self):
        """Return the energy lost at connections [J]."""
        return np.concatenate(self._lost) if self._lost else np.zeros(0)

    @property
    def energy(self):
        """Return kinetic plus potential energy of every sample [J]."""
        return self.kinetic + self.potential

    @property
    def balance(self):
        """Return what stays constant: energy + dissipated + lost - work [J]."""
        return self.energy + self.dissipated + self.lost - self.work

    @property
    def loop_error(self):
        """Return the largest error of all closed loops in every sample [m or rad]."""
        return self._column('loop_error')

    def to_csv(self, path):
        """Write one line per sample: time, energies, loop error, q and v by name."""
        names = [*COLUMNS, 'lost', *(f'q{k}' for k in range(self.q.shape[1])),
                 *(f'v:{name}' for name in self.robot.coordinate_names)]
        table = np.column_stack([np.concatenate(self._rows), self.lost, self.q, self.v])
        with open(path, 'w', newline='', encoding='utf-8') as file:
            writer = csv.writer(file)
            writer.writerow(names)
            writer.writerows(table.tolist())
