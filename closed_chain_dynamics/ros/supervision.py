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

"""Programs as processes: started, watched, started again when they crash, and ended together."""

from collections.abc import Iterable, Mapping
import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any

from closed_chain_dynamics.errors import ClosedChainError
from closed_chain_dynamics.ros.composition import Program
from closed_chain_dynamics.ros.family_ties import PARENT

__all__ = ['Family']

MOST_RESTARTS = 5
RESTART_AFTER = 0.5  # a crash [s]
# for a program that was asked to end: one that hangs takes longer, and no other, on a machine
# however busy [s]
ENDING_PATIENCE = 30.0


class Family:
    """
    The processes of some `composition.Program`s.

    Their output goes to standard error, each line with the name of who wrote it. Exit code 1 of a
    program means that model or parameters are bad: then `problem` has its last line.
    """

    def __init__(self, programs: Iterable[Program]) -> None:
        # nodes end with this process, also where it is killed: see family_ties.py
        self._environment = {**os.environ, 'PYTHONUNBUFFERED': '1', PARENT: str(os.getpid())}
        self.members = [_Member(program) for program in programs]
        self.problem = ''

    def start(self) -> None:
        """Start all programs."""
        for member in self.members:
            member.start(self._environment)

    def look_after(self) -> bool:
        """Start again what has crashed; return whether all is well."""
        for member in self.members:
            code = member.started.poll()
            if code is None:
                continue
            if code == 1 or member.restarts >= MOST_RESTARTS:
                self.problem = f'{member.name} ended with code {code}: {member.last_line()}'
                return False
            if code != 0 and time.monotonic() - member.noticed() > RESTART_AFTER:
                print(
                    f'[{member.name}] ended with code {code}; starting it again', file=sys.stderr
                )
                member.restarts += 1
                member.start(self._environment)
        return True

    def end(self) -> None:
        """Ask all to end, those first that command others; make sure that they do."""
        for member in reversed(self.members):
            if member.process and member.process.poll() is None:
                member.process.send_signal(signal.SIGINT)
        limit = time.monotonic() + ENDING_PATIENCE
        for member in self.members:
            if member.process:
                try:
                    member.process.wait(max(limit - time.monotonic(), 0.1))
                except subprocess.TimeoutExpired:
                    member.process.kill()
                    member.process.wait()

    def report(self) -> list[dict[str, Any]]:
        """Return name, process, restarts and exit code of every program."""
        return [
            {
                'node': member.name,
                'pid': member.started.pid,
                'restarts': member.restarts,
                'exit_code': member.started.poll(),
            }
            for member in self.members
        ]

    def said(self, name: str, mark: str) -> str:
        """Return the last line of a program that contains a mark, or nothing."""
        return next(
            (
                line
                for member in self.members
                if member.name == name
                for line in reversed(member.lines)
                if mark in line
            ),
            '',
        )


class _Member:
    """One program and its process."""

    def __init__(self, program: Program) -> None:
        self.program, self.name = program, program.executable
        self.process: subprocess.Popen[str] | None = None
        self.restarts, self.lines = 0, list[str]()
        self._crashed: float | None = None

    def start(self, environment: Mapping[str, str]) -> None:
        self._crashed = None
        try:
            self.process = subprocess.Popen(
                [sys.executable, '-m', self.program.module, *self.program.arguments],
                env=environment,
                text=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
        except OSError as error:
            raise ClosedChainError(f'{self.name} cannot be started: {error}') from None
        threading.Thread(target=self._listen, args=(self.process.stdout,), daemon=True).start()

    @property
    def started(self) -> subprocess.Popen[str]:
        """Return its process, once there is one."""
        assert self.process is not None  # a family starts all of its members at once
        return self.process

    def _listen(self, stream: Iterable[str]) -> None:
        for line in stream:
            self.lines = [*self.lines[-50:], line.rstrip()]
            print(f'[{self.name}] {line.rstrip()}', file=sys.stderr)

    def last_line(self) -> str:
        """Return the last thing that it said."""
        return next((line for line in reversed(self.lines) if line), 'it said nothing')

    def noticed(self) -> float:
        """Return when its crash was first seen."""
        self._crashed = self._crashed or time.monotonic()
        return self._crashed
