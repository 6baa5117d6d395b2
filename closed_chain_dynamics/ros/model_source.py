"""The model of a node: named by its parameter `model`, or latched on `robot_description`."""

from collections.abc import Callable
from pathlib import Path

from rclpy.node import Node
from std_msgs.msg import String

from closed_chain_dynamics.errors import ClosedChainError
from closed_chain_dynamics.model import library
from closed_chain_dynamics.model.mechanism import Mechanism, load
from closed_chain_dynamics.ros.messages.qos import LATCHED
from closed_chain_dynamics.ros.parameters import Parameters, Setting

__all__ = ['MODEL_SETTINGS', 'ModelSource']

MODEL_SETTINGS = [
    Setting(
        'model',
        '',
        'file or name of a shipped model; empty: from topic robot_description',
        fixed=True,
    ),
    Setting('actuated', [], 'actuated joints; empty: as the model says', fixed=True),
    Setting(
        'root_joint',
        'fixed',
        'how the root link is held by the world',
        choices=('fixed', 'floating'),
        fixed=True,
    ),
    Setting(
        'gravity',
        [],
        'acceleration of gravity in world axes [m/s^2]; empty: that of the model, or standard',
        fixed=True,
        item=float,
    ),
]


BLANK = '\ufeff \t\r\n'
SHOWN = 40  # characters of a text that is refused


class ModelSource:
    """
    Loads the model of a node and hands it on.

    `use(robot)` is called at once if parameter `model` names one, else whenever a new
    description arrives on the topic. A bad model at the start raises; a bad one from the topic is
    logged and kept in `problem`, and the node goes on with what it has. `hold_still()` is called
    before a description from the topic is read.
    """

    def __init__(
        self,
        node: Node,
        parameters: Parameters,
        use: Callable[[Mechanism], None],
        hold_still: Callable[[], None] | None = None,
    ) -> None:
        self._node, self._parameters, self._use = node, parameters, use
        self._hold_still = hold_still
        self._text: str | None = None
        self.problem = 'waiting for a model on topic robot_description'
        self._subscription = None
        if parameters.model:
            self._take(library.find(parameters.model))
        else:
            self._subscription = node.create_subscription(
                String, 'robot_description', self._on_description, LATCHED
            )

    def _take(self, source: str | Path) -> None:
        chosen = self._parameters
        robot = load(
            source,
            root_joint=chosen.root_joint,
            actuated=chosen.actuated or None,
            gravity=chosen.gravity or None,
        )
        self._use(robot)
        self.problem = ''

    def _on_description(self, message: String) -> None:
        if message.data == self._text:
            return
        self._text = message.data
        # A text from the network is never a path: no file is opened, and no macro is run.
        if not message.data.lstrip(BLANK).startswith('<'):
            self._refuse(f'it is no XML: {message.data[:SHOWN]!r}')
            return
        if self._hold_still:
            self._hold_still()
        try:
            self._take(message.data)
        except ClosedChainError as error:
            self._refuse(str(error))

    def _refuse(self, why: str) -> None:
        self.problem = f'robot_description: {why}'
        self._node.get_logger().error(self.problem, throttle_duration_sec=1.0)

    def close(self) -> None:
        """Listen no longer."""
        if self._subscription is not None:
            self._node.destroy_subscription(self._subscription)
            self._subscription = None
