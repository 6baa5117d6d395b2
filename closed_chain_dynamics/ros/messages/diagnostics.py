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

"""What a node says about itself on `diagnostics`, and the count of what it refused."""

from collections import Counter
from collections.abc import Mapping
import math
import time
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.node import Node

from closed_chain_dynamics.ros.messages.qos import COMMAND

__all__ = ['REPORT_EVERY', 'Diagnostics', 'Rejections']

REPORT_EVERY = 1.0  # diagnostics of a node [s]
LOG_REASON_EVERY = 5.0  # of one reason in the log [s]
LONGEST_LINE = 500  # characters of a line in the log


class Rejections:
    """
    What was refused: how often for each reason and in all, and the last one in words.

    Each reason is written to the log of the node, at most once in LOG_REASON_EVERY.
    """

    def __init__(self, node: Node | None = None) -> None:
        self.counts: Counter[str] = Counter()
        self.last, self.total, self._node = '', 0, node
        self._logged: dict[str, tuple[float, int]] = {}  # when, and the count then

    def __call__(self, reason: str, text: str) -> None:
        """Count a refusal; `reason` is its short name, `text` says what and why."""
        self.counts[reason] += 1
        self.total += 1
        self.last = text[:LONGEST_LINE]  # whoever sends a megabyte shall not have it repeated
        when, before = self._logged.get(reason, (-math.inf, 0))
        now = time.monotonic()
        if self._node is not None and now - when >= LOG_REASON_EVERY:
            count = self.counts[reason] - before
            self._logged[reason] = now, self.counts[reason]
            times = f' ({count} times since the last such line)' if count > 1 else ''
            self._node.get_logger().warning(f'refused, {reason}: {text[:LONGEST_LINE]}{times}')

    def values(self) -> dict[str, Any]:
        """Return what diagnostics shows."""
        shown = {f'rejected: {reason}': count for reason, count in sorted(self.counts.items())}
        return {**shown, 'last rejection': self.last} if shown else {}


class Diagnostics:
    """Publishes one status of a node; levels are the strings ok, warning, error and stale."""

    LEVELS = {
        'ok': DiagnosticStatus.OK,
        'warning': DiagnosticStatus.WARN,
        'error': DiagnosticStatus.ERROR,
        'stale': DiagnosticStatus.STALE,
    }

    def __init__(self, node: Node) -> None:
        self._node = node
        self._publisher = node.create_publisher(DiagnosticArray, 'diagnostics', COMMAND)

    def publish(
        self, level: str, message: str, values: Mapping[str, Any], hardware: str = ''
    ) -> None:
        """Publish a status with values by name."""
        status = DiagnosticStatus(
            level=self.LEVELS[level],
            name=self._node.get_fully_qualified_name().lstrip('/'),
            message=message,
            hardware_id=hardware,
            values=[KeyValue(key=str(key), value=_text(value)) for key, value in values.items()],
        )
        array = DiagnosticArray(status=[status])
        array.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(array)


def _text(value: Any) -> str:
    return f'{value:.6g}' if isinstance(value, float) else str(value)
