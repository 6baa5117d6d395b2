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
Generated code for control laws: the torques that give theta_G'', one code for each structure.

It is made in a process beside this one while the generic kernels go on, and taken up when it is
there; both give the same torques to rounding. What was made once is kept, so a structure that
comes again has its code at once. Code is for mechanisms whose theta_G all have a motor; where it
cannot be, or refuses a pose, the generic kernels answer, and `reason` says why.
"""

import ctypes
from threading import Thread

import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics.arrays import Vector
from closed_chain_dynamics.assembly.search import assemble
from closed_chain_dynamics.codegen.background import COMPILING, BackgroundBuild, sharing_python
from closed_chain_dynamics.codegen.batch import Function
from closed_chain_dynamics.codegen.build import is_built, require_casadi
from closed_chain_dynamics.codegen.cache import DRIVE
from closed_chain_dynamics.codegen.compiler import find_compiler
from closed_chain_dynamics.codegen.gathering import gather
from closed_chain_dynamics.dynamics.generalized_coordinates import coordinates
from closed_chain_dynamics.errors import ClosedChainError
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['GeneratedLaw']

TOO_FEW = 'not every generalized coordinate has a motor'
OTHER_CHOICE = 'theta_G is chosen otherwise in this pose'


class _Making(Thread):
    """Makes the code of a structure: `function`, or the `reason` that there is none."""

    def __init__(self, robot: Mechanism, q: Vector, dependent: bytes) -> None:
        super().__init__(daemon=True)  # the end of the program does not wait for it
        self._robot, self._q, self._dependent = robot, q, dependent
        self.function: Function | None = None
        self.reason = ''

    def run(self) -> None:
        with sharing_python():
            try:
                self.function = self._make()
            except ClosedChainError as error:
                self.reason = ' '.join(str(error).split())

    def _make(self) -> Function | None:
        source = gather(self._robot, self._q)
        if dependent(self._robot) != self._dependent:
            self.reason = OTHER_CHOICE
        elif not {motor.dof for motor in source.motors}.issuperset(source.independent):
            self.reason = TOO_FEW
        else:
            if not is_built(source, DRIVE):
                self.reason = BackgroundBuild(source, DRIVE).complaint()
            return None if self.reason else Function(source, DRIVE)
        return None


class GeneratedLaw:
    """
    Generated code for the present structure of a mechanism, as soon as there is some.

    Raises where nothing could ever be generated: without CasADi, or without a C compiler.
    """

    def __init__(self, robot: Mechanism) -> None:
        require_casadi()
        find_compiler()
        self._robot = robot
        self._known: dict[object, Function] = {}
        self._failed: dict[object, str] = {}
        self._making: tuple[object, _Making] | None = None
        self._seen: object = None
        self._function: Function | None = None
        self._code = 0
        self.reason = COMPILING

    def prepare(self) -> None:
        """Make the code of the present structure, and wait for it."""
        try:
            q = assemble(self._robot, limits=False)
            coordinates(self._robot, q)  # chooses theta_G, once for the robot and its copies
        except ClosedChainError:  # it may be closed later, by an event
            return
        self.code(q)
        if self._making is not None:
            self._making[1].join()
            self.code(q)

    def code(self, q: Vector) -> int:
        """
        Return the address of the code for kernels; 0: none yet, and `reason` says why.

        `q`: a closed pose near the present one, in which pivots are chosen.
        """
        if self._making is not None and not self._making[1].is_alive():
            self._take(*self._making)
            self._making = None
        now = self._robot.changes, dependent(self._robot)
        if now != self._seen:
            self._look(now, q)
        return self._code

    def torques(self, q: Vector, v: Vector, a: Vector) -> Vector | None:
        """Return the torques for a motion that the loops allow; None where code has none."""
        if not self.code(q) or self._function is None:
            return None
        tau = np.empty(self._function.width)
        return tau if self._function.answer(q, v, a[self._theta_G()], tau) else None

    def _theta_G(self) -> NDArray[np.bool_]:
        free: NDArray[np.bool_] = self._robot.structure.dofs['dependent'] == 0
        return free

    def _look(self, now: tuple[int, bytes], q: Vector) -> None:
        """Find code for the present structure; begin to make it where nobody does."""
        robot = self._robot
        key = robot.connections(), robot.gravity.tobytes(), now[1]
        self._seen, self._function = now, self._known.get(key)
        self._code, self.reason = 0, self._failed.get(key, COMPILING)
        if self._function is not None:
            self._code, self.reason = address(self._function), ''
        elif self._making is None and key not in self._failed:
            self._making = key, _Making(robot.copy(), q.copy(), now[1])
            self._making[1].start()

    def _take(self, key: object, made: _Making) -> None:
        if made.function is not None:
            self._known[key] = made.function
        else:
            self._failed[key] = made.reason
        self._seen = None


def dependent(robot: Mechanism) -> bytes:
    """Return which velocities are theta_S at present."""
    found: bytes = robot.structure.dofs['dependent'].tobytes()
    return found


def address(function: Function) -> int:
    """Return where code for kernels begins, see kernels/generated.py."""
    return ctypes.cast(function.library.dll.call_packed, ctypes.c_void_p).value or 0
