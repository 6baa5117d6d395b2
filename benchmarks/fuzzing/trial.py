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

"""One input, one verdict: read, refused with a message, or a finding."""

from collections.abc import Callable
from dataclasses import dataclass
import hashlib
from pathlib import Path
import resource
import signal
import traceback
import warnings

import closed_chain_dynamics
from closed_chain_dynamics.errors import ClosedChainError

__all__ = ['MOST_MEMORY', 'MOST_SECONDS', 'Verdict', 'bound_memory', 'judge']

MOST_SECONDS = 10.0  # of processor time; the slowest shipped model takes a twentieth
MOST_MEMORY = 2 * 2**30  # bytes beyond what the process has at its start
LONGEST_MESSAGE = 50_000  # characters: a name of 5000 may be told several times
PACKAGE = Path(closed_chain_dynamics.__file__).parent


class TookTooLong(BaseException):
    """Not an Exception: readers of other libraries are wrapped in `except Exception`."""


@dataclass(frozen=True)
class Verdict:
    """`kind`: 'read', 'refused' or what was found; `site`: where in the package it came from."""

    kind: str
    site: str = ''
    text: str = ''

    @property
    def is_finding(self) -> bool:
        return self.kind not in ('read', 'refused')

    @property
    def label(self) -> str:
        """Return a short name that findings of the same origin share."""
        return f'{self.kind}-{hashlib.sha1(self.site.encode()).hexdigest()[:8]}'


def bound_memory() -> None:
    """From now on, MemoryError instead of a machine without memory."""
    with open('/proc/self/statm') as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + MOST_MEMORY, resource.RLIM_INFINITY))


def judge(
    read: Callable[[bytes], object], data: bytes, *, seconds: float = MOST_SECONDS
) -> Verdict:
    """Let a reader read, and tell what came of it."""
    before = signal.signal(signal.SIGVTALRM, _stop)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')
            signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
            try:
                read(data)
            finally:
                signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
    except ClosedChainError as error:
        if not str(error).strip():
            return Verdict('silent', _site(error))
        if len(str(error)) > LONGEST_MESSAGE:
            return Verdict('wordy', _site(error), str(error)[:200])
        return Verdict('refused', _site(error))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # whatever it is, it is a finding
        return Verdict(
            type(error).__name__, _site(error), ''.join(traceback.format_exception(error))
        )
    finally:
        signal.signal(signal.SIGVTALRM, before)
    return Verdict('read')


def _stop(*_: object) -> None:
    raise TookTooLong


def _site(error: BaseException) -> str:
    """Return the innermost line of the package that an error, or its cause, went through."""
    error = error.__cause__ or error
    frames = traceback.extract_tb(error.__traceback__)
    own = [each for each in frames if each.filename.startswith(str(PACKAGE))]
    if isinstance(error, RecursionError) and own:
        own = own[:1]  # where it began: where it ended is chance
    last = own[-1] if own else (frames[-1] if frames else None)
    return '' if last is None else f'{Path(last.filename).name}:{last.lineno} {last.name}'
