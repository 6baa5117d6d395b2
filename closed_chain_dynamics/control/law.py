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
Torques that move a closed chain along a reference (Yamane and Nakamura, used as a control law).

computed_torque        theta_G'' = theta_d'' + K_d e' + K_p e, then tau_A = S^-T W^T tau_O
feedforward            the torques of the reference alone: nothing measured goes in
gravity_compensation   the torques that hold the measured pose against gravity and springs
impedance, transparent, assist   what a person feels of a device, see felt_law.py

The error e is taken on the manifold, as a step of the velocities that leads from the pose to the
reference; e' is exact to first order in e for rotations.

With too few actuators no torque gives the wanted theta_G''. Then the accelerations along
N, S N = 0, which no actuator drives, are left to the dynamics, and those of the actuated joints
are as wanted: N^T (A (theta_G'' + N y) + b) = 0 gives y. The residual is what the motion as wanted
would have needed beyond the actuators. Levers (dynamics/levers.py) below `weak_lever` count as
none, so that torques stay bounded near poses where an actuator loses its grip.
"""

from dataclasses import replace
from typing import TypeAlias

import numpy as np

from closed_chain_dynamics import kernels
from closed_chain_dynamics.arrays import Vector
from closed_chain_dynamics.control.feel import Feel
from closed_chain_dynamics.control.felt_law import FELT, FeltLaw
from closed_chain_dynamics.control.generated_law import GeneratedLaw
from closed_chain_dynamics.control.held_gains import held_alone, longest_turn, share
from closed_chain_dynamics.control.named_gains import GivenGains, joint_gains
from closed_chain_dynamics.control.projection import Command, Left, Projection, Redundancy, Torques
from closed_chain_dynamics.control.sensed import NOTHING_SENSED, Sensed
from closed_chain_dynamics.control.singularity_guard import SingularityGuard
from closed_chain_dynamics.dynamics.inverse import inverse_dynamics
from closed_chain_dynamics.dynamics.levers import find_levers, no_lever
from closed_chain_dynamics.dynamics.outside_forces import acting
from closed_chain_dynamics.dynamics.tree import mass_matrix
from closed_chain_dynamics.errors import StateError
from closed_chain_dynamics.kernels import records as at, torque_law
from closed_chain_dynamics.kernels.tangent import compute_tangent
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['MODES', 'Command', 'DesiredMotion', 'TorqueController']

MODES = ('computed_torque', 'feedforward', 'gravity_compensation', *FELT)
TRACKING = ('computed_torque', 'feedforward')  # modes that are nothing without a reference
HELD_BEFORE = 2.0  # distances that refuse a pose, at which a reference is held

DesiredMotion: TypeAlias = tuple[Vector, Vector, Vector]  # q_d, v_d, a_d, complete


class TorqueController:
    """
    Computes actuator torques from a state and a reference.

    `kp` [1/s^2] and `kd` [1/s]: numbers, or {joint or coordinate: number} with 'default'.
    `policy`, `weights`, `preload`: for redundant actuators, see `actuator_torques`.
    `singularity`: 'damp', 'hold' or 'refuse', see singularities.py; 'refuse' also refuses poses
    nearer than `singular_distance` (see Coordinates.distance). `feel`: for the modes that a person
    feels. `generated`: code that gives the same torques sooner, while it holds.
    """

    def __init__(
        self,
        robot: Mechanism,
        *,
        mode: str = 'computed_torque',
        kp: GivenGains = 400.0,
        kd: GivenGains = 40.0,
        policy: str = 'minimum_norm',
        weights: Torques = None,
        preload: Torques = None,
        singularity: str = 'damp',
        singular_distance: float = 1e-2,
        weak_lever: float = 1e-3,
        feel: Feel | None = None,
        generated: GeneratedLaw | None = None,
    ) -> None:
        if mode not in MODES:
            raise StateError(
                f'unknown mode {mode!r}',
                where=robot.name,
                repair=f'Choose one of {", ".join(MODES)}.',
            )
        redundancy: Redundancy = {'policy': policy, 'weights': weights, 'preload': preload}
        self._projection = Projection(robot, redundancy, singularity, singular_distance)
        self.robot, self.mode = robot, mode
        self._gains_given, self.singularity = (kp, kd), singularity
        self._redundancy, self._weak_lever = redundancy, weak_lever
        self.feel = feel or Feel()
        self._felt = FeltLaw(robot, mode, self.feel)
        self._is_plain = policy == 'minimum_norm' and weights is None and preload is None
        self.generated = generated if self._is_plain and singularity == 'damp' else None
        self.by_code = False  # whether generated code gave the last torques
        self._is_loaded = False  # whether wrenches act, which generated code does not know
        self._tree = b''
        self.restructured()

    def __repr__(self) -> str:
        return f'<TorqueController of {self.robot.name!r}: {self.mode}>'

    def singularity_guard(self) -> SingularityGuard | None:
        """Return what keeps references further away than the law refuses; None where it damps."""
        if self.singularity == 'damp':
            return None
        return SingularityGuard(self.robot, HELD_BEFORE * self._projection.singular_distance)

    def for_copy(self, robot: Mechanism) -> 'TorqueController':
        """Return the same controller for a copy of its mechanism."""
        kp, kd = self._gains_given
        return TorqueController(
            robot,
            mode=self.mode,
            kp=kp,
            kd=kd,
            singularity=self.singularity,
            singular_distance=self._projection.singular_distance,
            weak_lever=self._weak_lever,
            feel=self.feel,
            **self._redundancy,
        )

    def restructured(self) -> None:
        """Take note that joints were connected or cut."""
        before, self._tree = self._tree, self.robot.structure.tree
        if self._tree != before:  # else only loops were
            self._take_tree()
        self._gains = self._gains_with(0)
        self._projection.restructured()
        if self.mode in FELT:
            self._felt.restructured()

    def _take_tree(self) -> None:
        """Make room, and choose gains, for every velocity of the tree."""
        nv = self.robot.nv
        self._weakest = max(no_lever(self.robot), self._weak_lever)  # lever that counts
        kp, kd = (joint_gains(self.robot, given) for given in self._gains_given)
        self._all_gains = torque_law.Gains(kp, kd, self._weakest, 0)
        self._longest_turn = longest_turn(kp, kd)  # that gains are held in as they are
        self._W, self._drift, self._error = np.empty((nv, nv)), np.empty(nv), np.empty(nv)
        self._zero, self._wanted = np.zeros(nv), np.empty(nv)
        self._out = np.empty(2 + 3 * nv + len(self.robot.actuator_names))

    def follows(self, sensed: Sensed) -> bool:
        """Return whether a reference means anything to the mode, as things are."""
        if self.mode == 'assist':
            return sensed.human is None
        return self.mode == 'impedance' or self.mode in TRACKING

    def torques(
        self,
        q: Vector,
        v: Vector,
        reference: DesiredMotion | None = None,
        sensed: Sensed = NOTHING_SENSED,
        *,
        turn: float = 0.0,
    ) -> Command:
        """
        Return the Command for a complete state, and a complete reference (q_d, v_d, a_d).

        The mode 'feedforward' looks at the reference only, 'gravity_compensation' at q only.
        `sensed`: what else is known; its wrenches act in every mode. `turn`: how long torques
        stand [s]; stiffness and damping that cannot be held then are weakened (held_gains.py).
        """
        self.by_code, self._is_loaded = False, bool(sensed.wrenches)
        with acting(self.robot, sensed.wrenches):
            return self._torques(q, v, reference, sensed, turn)

    def _code(self, q: Vector) -> int:
        """Return where generated code for this structure is; 0: nowhere."""
        if self.generated is None or self._is_loaded:
            return 0
        return self.generated.code(q)

    def _torques(
        self, q: Vector, v: Vector, reference: DesiredMotion | None, sensed: Sensed, turn: float
    ) -> Command:
        if self.mode == 'gravity_compensation':
            return self.gravity(q)
        if self.mode in FELT:
            forces = self._felt.forces(q, v, reference, sensed, turn)
            command = self._projection.command(q, v, forces.tau_O)
            tau_A = command.tau_A if forces.own is None else command.tau_A + forces.own
            return replace(command, tau_A=tau_A, held=forces.held)
        if reference is None:
            raise StateError(
                'there is no reference',
                where=self.robot.name,
                repair='Give q_d, v_d, a_d, or choose mode gravity_compensation.',
            )
        if self.mode == 'feedforward':
            return self._command(*reference)
        self._projection.refuse_singular(q)
        self._gains, held = self._held_gains(turn, self._code(q))
        whole = self._whole_law(q, v, reference, held)
        if whole is not None:
            return whole
        a, left, error = self._acceleration(q, v, reference)
        return replace(self._command(q, v, a), left=left, error=error, held=held)

    def _held_gains(self, turn: float, code: int) -> tuple[torque_law.Gains, float]:
        """Return the gains that turns of a length can hold, and their share of those given."""
        given = self._gains_with(code)
        if turn <= self._longest_turn:
            return given, 1.0
        held = held_alone(*given[:2], 1.0, turn)
        return torque_law.Gains(*held, self._weakest, code), share(held, given[:2])

    def _gains_with(self, code: int) -> torque_law.Gains:
        """Return the gains as they were given, and generated code beside them."""
        if code != self._all_gains.code:
            self._all_gains = self._all_gains._replace(code=code)
        return self._all_gains

    def _whole_law(
        self, q: Vector, v: Vector, reference: DesiredMotion, held: float = 1.0
    ) -> Command | None:
        """Return the Command in one compiled call; None where it takes more than that."""
        robot = self.robot
        if not self._is_whole:
            return None
        target = torque_law.Target(*reference)
        status = torque_law.compute_law(
            robot.handle, q, v, target, self._gains, self._wanted, self._out
        )
        if status in (at.UNSOLVED, at.SINGULAR):
            return None
        if status:
            robot.raise_for(status, q, v, self._wanted)
        return self.command_of(self._out, held)

    @property
    def _is_whole(self) -> bool:
        """Return whether one compiled call may do."""
        return self._is_plain and self.robot.rank_known

    def whole_law(
        self, turn: float, q: Vector | None
    ) -> tuple[torque_law.Gains, Vector, Vector, float] | None:
        """
        Return gains, room for what the law writes, and the share of gains that a turn can hold.

        For a turn in one call; None: not so. `q`: the last pose.
        """
        if self.mode != 'computed_torque' or q is None or not self._is_whole:
            return None
        if self._projection.is_refused(q):
            return None
        gains, held = self._held_gains(turn, self._code(q))
        return gains, self._wanted, self._out, held

    def command_of(self, out: Vector, held: float = 1.0) -> Command:
        """Return the Command in what the law has written, with a share of the gains."""
        nv = self.robot.nv
        last = 1 + nv + len(self.robot.actuator_names)
        self.by_code = bool(self._all_gains.code) and not out[0]
        kept = out.copy()  # it is written over in the next turn
        tau_G = kept[last : last + int(kept[0])]
        left = self.robot.coordinate_names, kept[-1 - nv : -1], tau_G
        return Command(kept[1 + nv : last], left, error=float(kept[-1]), held=held)

    def gravity(self, q: Vector) -> Command:
        """Return the Command that holds a pose: v = 0, a = 0."""
        return self._command(q, self._zero, self._zero)

    def _acceleration(
        self, q: Vector, v: Vector, reference: DesiredMotion
    ) -> tuple[Vector, Left, float]:
        """Return W theta_G'' + W' theta_G' with feedback, (nv,), what is left, and the error."""
        robot, (q_d, v_d, a_d) = self.robot, reference
        status = compute_tangent(robot.handle, q, v, self._W, self._drift)
        if status:
            robot.raise_for(status, q, v)
        kernels.difference(robot.handle, q, q_d, self._error)
        dofs = robot.structure.dofs
        theta_G = dofs['dependent'] == 0
        e = self._error[theta_G]
        feedback = (self._gains.kd * (v_d - v) + self._gains.kp * self._error)[theta_G]
        W, drift, wanted = self._W[:, : e.size], self._drift, a_d[theta_G]
        if (dofs['actuator'][theta_G] >= 0).all():  # S has unit rows: all can be driven
            return W @ (wanted + feedback) + drift, None, float(np.abs(e).max(initial=0.0))
        S = self._projection.rows(q) @ W
        unmoved = find_levers(robot, S, W, self._weak_lever).unmoved
        N = np.linalg.svd(unmoved, full_matrices=False)[0]  # orthonormal
        a: Vector = W @ (wanted + feedback - N @ (N.T @ feedback)) + drift
        error = float(np.abs(S @ e).max(initial=0.0))
        if not N.size:
            return a, None, error
        needed = inverse_dynamics(robot, q, v, a).tau_G
        force, N_O = N.T @ needed, W @ N
        y = np.linalg.solve(N_O.T @ mass_matrix(robot, q) @ N_O, force)
        names = [name for name, free in zip(robot.coordinate_names, theta_G) if free]
        return a - N_O @ y, (names, N @ force, needed), error

    def _command(self, q: Vector, v: Vector, a: Vector) -> Command:
        if self.generated is not None and self._code(q):
            tau_A = self.generated.torques(q, v, a)
            if tau_A is not None:
                self.by_code = True
                return Command(tau_A)
        r = inverse_dynamics(self.robot, q, v, a, singularity=self.singularity, **self._redundancy)
        if self.mode == 'computed_torque':  # has been looked at before
            return Command(r.tau_A, None, r.singular)
        left = r.coordinates.independent, r.residual, r.tau_G
        return Command(r.tau_A, left, r.singular)
