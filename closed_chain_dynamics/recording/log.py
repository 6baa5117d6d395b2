"""
The log of a simulation: samples in arrays, events beside them.

Samples are kept in segments of one structure each. Within a segment q and v have one width, and
its mechanism can be had again, connected as it was, for whatever is computed afterwards.
"""

from itertools import chain

import numpy as np

from closed_chain_dynamics.errors import NameNotFound
from closed_chain_dynamics.recording.segments import Segment, joint_part, joint_width

__all__ = ['Log']

COLUMNS = ('time', 'kinetic', 'potential', 'work', 'dissipated', 'loop_error')
WIDTHS = {
    'q': lambda robot: robot.nq,
    'v': lambda robot: robot.nv,
    'tau': lambda robot: len(robot.actuator_names),
}


def _column(name, about):
    return property(lambda log: log._joined('rows')[:, COLUMNS.index(name)].copy(), doc=about)


class Log:
    """
    Samples of a run: time, q, v, torques, energies, loop error; and the events.

    Every attribute is an array with one row per sample. At an event there are two samples of the
    same time: before and after. Where cutting a joint of the tree has changed the number of
    coordinates, `q`, `v` and `tau` are lists of arrays, one per stretch of equal width;
    `joint`, `velocity`, `table` and all files cover the whole run in either case.
    """

    time = _column('time', 'Time of every sample [s].')
    kinetic = _column('kinetic', 'Kinetic energy of every sample [J].')
    potential = _column('potential', 'Potential energy: gravity, springs and limits [J].')
    work = _column('work', 'Work that motors and external forces have put in [J].')
    dissipated = _column('dissipated', 'Energy that damping and friction have taken [J].')
    loop_error = _column('loop_error', 'Largest error of all closed loops [m or rad].')

    def __init__(self, robot):
        self.robot = robot
        self.events = []
        self.segments = []
        self._reactions = {}

    def append(self, rows, q, v, lost, tau=None, wrenches=None):
        """
        Add samples: rows as the kernels write them, configurations, velocities, energy lost.

        `tau` (actuators,) are the torques of the step that led here; None, where there was none,
        borrows those of the step that follows. `wrenches`: the external ones, {link: (6,)}.
        """
        count = len(rows)
        torques = np.full((count, len(self.robot.actuator_names)), np.nan if tau is None else tau)
        self._segment(wrenches or {}).add(
            rows=np.array(rows),
            q=np.array(q),
            v=np.array(v),
            lost=np.full(count, lost),
            tau=torques,
        )

    def _segment(self, wrenches):
        """Return the segment for the present structure: the last one, or a new one."""
        robot, structure = self.robot, self.robot.connections()
        last = self.segments[-1] if self.segments else None
        same_robot = last is not None and last.template.model is robot.model
        if same_robot and last.structure == structure and _same_wrenches(last.wrenches, wrenches):
            return last
        # One copy serves all structures: events may be very many.
        template = last.template if same_robot else robot.copy()
        kept = {link: np.array(wrench) for link, wrench in wrenches.items()}
        self.segments.append(Segment(template, structure, kept))
        return self.segments[-1]

    def __len__(self):
        return sum(map(len, self.segments))

    def _joined(self, name):
        """Return what has the same width in every segment, as one array."""
        empty = np.zeros((0, len(COLUMNS)) if name == 'rows' else 0)
        return np.concatenate([empty, *(segment.get(name) for segment in self.segments)])

    def _stretches(self, what):
        """Return q, v or tau as a list of arrays, one per stretch of equal width."""
        groups = []
        for segment in self.segments:
            values = segment.get(what)
            if groups and groups[-1][-1].shape[1] == values.shape[1]:
                groups[-1].append(values)
            else:
                groups.append([values])
        return [np.concatenate(group) for group in groups]

    def _array(self, what):
        arrays = self._stretches(what) or [np.zeros((0, WIDTHS[what](self.robot)))]
        arrays = [_held(each) for each in arrays] if what == 'tau' else arrays
        return arrays[0] if len(arrays) == 1 else arrays

    @property
    def q(self):
        """Return the configuration of every sample, (samples, nq), or a list of such arrays."""
        return self._array('q')

    @property
    def v(self):
        """Return the velocities of every sample, (samples, nv), or a list of such arrays."""
        return self._array('v')

    @property
    def tau(self):
        """Return the torques of the step to each sample, (samples, actuators), or a list."""
        return self._array('tau')

    @property
    def lost(self):
        """Return the energy lost at connections [J]."""
        return self._joined('lost')

    @property
    def energy(self):
        """Return kinetic plus potential energy of every sample [J]."""
        return self.kinetic + self.potential

    @property
    def balance(self):
        """Return what stays constant: energy + dissipated + lost - work [J]."""
        return self.energy + self.dissipated + self.lost - self.work

    # --- by name -------------------------------------------------------------------------------
    def table(self, what):
        """Return names and one array (samples, names) of 'q', 'v' or 'tau'; NaN: not there."""
        names = list(
            dict.fromkeys(name for segment in self.segments for name in segment.names(what))
        )
        values = np.full((len(self), len(names)), np.nan)
        rows = chain.from_iterable(_listed(self._array(what)))
        for segment, samples in self.spans():
            places = [names.index(name) for name in segment.names(what)]
            values[samples, places] = [next(rows) for _ in range(len(segment))]
        return names, values

    def spans(self):
        """Yield each segment and the slice of samples that it holds."""
        start = 0
        for segment in self.segments:
            yield segment, slice(start, start + len(segment))
            start += len(segment)

    def joint(self, name):
        """
        Return the positions of a joint, tree or loop, over time [rad or m].

        (samples,) for a joint of one coordinate, else (samples, numbers of the joint in q); NaN
        while a joint of the tree is cut.
        """
        return self._of_joint(name, 0)

    def velocity(self, name):
        """Return the velocities of a joint over time [rad/s or m/s], as `joint` does."""
        return self._of_joint(name, 1)

    def _of_joint(self, name, place):
        """Return the joint's part of q (place 0) or of v (1)."""
        width = joint_width(self.robot, name, place)
        values = np.full((len(self), width), np.nan)
        for segment, samples in self.spans():
            found = joint_part(segment, name, place)
            if found.shape[1] == width:  # a joint that is cut has the coordinates of a free one
                values[samples] = found
        return values[:, 0] if width == 1 else values

    def reactions(self, joint, *, frame='world', every=1):
        """
        Return force and moment in a joint, tree or loop, over time, (samples, 6) [N, N m].

        On the child, as `ccd.reactions` gives them, with the torques and wrenches of the log;
        zero in a joint that is cut. They are computed when first asked for; `every` takes every
        so many-th sample only.
        """
        model = self.robot.description
        known = [each.name for each in (*model.joints, *model.loops)]
        if joint not in known:
            raise NameNotFound('joint', joint, known, where=self.robot.name)
        key = (frame, every, len(self))
        if key not in self._reactions:
            self._reactions = {key: self._all_reactions(frame, every)}
        return np.array([sample[joint].wrench for sample in self._reactions[key]])

    def _all_reactions(self, frame, every):
        from closed_chain_dynamics.dynamics.forward import forward_dynamics
        from closed_chain_dynamics.dynamics.joint_reactions import reactions

        torques, found, number = chain.from_iterable(_listed(self.tau)), [], 0
        for segment in self.segments:
            robot, wrenches = segment.mechanism(), segment.wrenches or None
            for q, v in zip(segment.get('q'), segment.get('v')):
                tau = next(torques)
                if number % every == 0:
                    f = forward_dynamics(robot, q, v, tau, wrenches=wrenches)
                    found.append(
                        dict(
                            reactions(
                                robot, q, v, f.acceleration, tau, wrenches=wrenches, frame=frame
                            )
                        )
                    )
                number += 1
        return found

    # --- files -----------------------------------------------------------------------------------
    def to_csv(self, path):
        """Write one line per sample: time, energies, loop error, q, v, torques and events."""
        from closed_chain_dynamics.recording.log_files import write_csv

        write_csv(self, path)

    def to_npz(self, path):
        """Write all arrays, their names and the events for `numpy.load`."""
        from closed_chain_dynamics.recording.log_files import write_npz

        write_npz(self, path)

    def to_mcap(self, path):
        """Write ROS 2 messages: one MCAP file where the path ends so, else a rosbag2 folder."""
        from closed_chain_dynamics.recording.mcap import write_mcap

        write_mcap(self, path)

    def plot(self, path):
        """Write a figure (.png, .svg, .pdf) of motion, energies, loop error and events."""
        from closed_chain_dynamics.recording.plots import plot_log

        plot_log(self, path)

    def record(self, path, **options):
        """Write an animation (.gif, .mp4); for options and result see `animation.record`."""
        from closed_chain_dynamics.recording.animation import record

        return record(self, path, **options)


def _listed(arrays):
    return arrays if isinstance(arrays, list) else [arrays]


def _same_wrenches(one, other):
    return one.keys() == other.keys() and all(np.array_equal(one[k], other[k]) for k in one)


def _held(tau):
    """Fill samples without a step: from the next step, else the last one, else zero."""
    unknown = np.isnan(tau).any(axis=1)
    steps = np.flatnonzero(~unknown)
    if steps.size and unknown.any():
        tau[unknown] = tau[
            steps[np.searchsorted(steps, np.flatnonzero(unknown)).clip(max=steps.size - 1)]
        ]
    return np.nan_to_num(tau)
