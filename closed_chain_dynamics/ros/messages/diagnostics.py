"""What a node says about itself on `diagnostics`, and the count of what it refused."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.node import Node

from closed_chain_dynamics.ros.messages.qos import COMMAND

__all__ = ['Diagnostics', 'Rejections']


class Rejections:
    """What was refused: how often for each reason, and the last one in words."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.last = ''

    def __call__(self, reason: str, text: str) -> None:
        """Count a refusal; `reason` is its short name, `text` says what and why."""
        self.counts[reason] += 1
        self.last = text

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
