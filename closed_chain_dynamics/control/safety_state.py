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
Whether torques may be trusted: ready, active, degraded or fault, with the cause in words.

ready      nothing is wrong and nothing is asked for: the fallback is sent
active     torques of the law are sent
degraded   the fallback is sent, or something is held or limited; good input ends it by itself
fault      the fallback is sent until somebody clears it and its cause is gone
"""

from collections.abc import Callable
from typing import TypeAlias

__all__ = ['ACTIVE', 'DEGRADED', 'FAULT', 'READY', 'REFUSED_REFERENCE', 'SafetyState']

READY, ACTIVE, DEGRADED, FAULT = 'ready', 'active', 'degraded', 'fault'
REFUSED_REFERENCE = 'reference'  # a cause each text of which is another refusal

OnChange: TypeAlias = Callable[['SafetyState'], object] | None


class SafetyState:
    """
    The state, its `cause` (a short name) and `text`; `on_change(self)` is told of every change.

    The same cause told again with another text, whose numbers may differ in every turn, is no
    change; another refusal of a reference is.
    """

    def __init__(self, on_change: OnChange = None) -> None:
        self.state, self.cause, self.text = READY, 'no joint states yet', 'no joint states yet'
        self._on_change = on_change

    @property
    def is_fault(self) -> bool:
        """Return whether a fault is latched."""
        return self.state == FAULT

    def enter(self, state: str, cause: str = '', text: str = '') -> None:
        """Note what is; a fault stays."""
        if not self.is_fault:
            self._set(state, cause, text)

    def fault(self, cause: str, text: str) -> None:
        """Latch a fault; the first one stays."""
        if not self.is_fault:
            self._set(FAULT, cause, text)

    def clear(self) -> None:
        """Forget a fault, whose cause is gone."""
        if self.is_fault:
            self._set(READY, 'cleared', 'the fault was cleared')

    def after(self, other: 'SafetyState | None') -> 'SafetyState':
        """Keep a fault of the one before, which only `clear` ends; return self."""
        if other is not None and other.is_fault:
            self.state, self.cause, self.text = other.state, other.cause, other.text
        return self

    def _set(self, state: str, cause: str, text: str) -> None:
        changed = (state, cause) != (self.state, self.cause) or (
            cause == REFUSED_REFERENCE and text != self.text
        )
        self.state, self.cause, self.text = state, cause, text
        if changed and self._on_change:
            self._on_change(self)

    def __str__(self) -> str:
        return f'{self.state}: {self.text}' if self.text else self.state
