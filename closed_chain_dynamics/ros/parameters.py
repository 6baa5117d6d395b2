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
Parameters with a description, bounds and a check, at the start and on every change.

A node lists its `Setting`s once; `Parameters` declares them, refuses what does not fit with a
reason that names it, and holds the present values as attributes.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
import math
from typing import Any

from rcl_interfaces.msg import (
    FloatingPointRange,
    IntegerRange,
    ParameterDescriptor,
    SetParametersResult,
)
from rclpy.exceptions import InvalidParameterTypeException, InvalidParameterValueException
from rclpy.node import Node

from closed_chain_dynamics.errors import ClosedChainError, nearest_names

__all__ = ['Parameters', 'Setting']

QUALITY = 'qos_overrides.'  # how names begin that set the quality of service of a topic
# What a default says about the type of its parameter; a whole number will do for a real one.
TYPE_WORDS = {bool: 'true or false', int: 'a whole number', float: 'a number', str: 'text'}


@dataclass(frozen=True)
class Setting:
    """One parameter: its default says the type; a list has the type of `item`."""

    name: str
    default: object
    about: str
    low: float = -math.inf
    high: float = math.inf
    choices: tuple[str, ...] = ()
    fixed: bool = False  # read at the start only
    item: type[Any] = str  # of a list

    def read(self, value: Any) -> Any:
        """Return the value in the type of the default, or raise ValueError with the reason."""
        if not isinstance(self.default, (list, tuple)):
            return self._single(value, type(self.default))
        if value is None:
            return []
        if isinstance(value, (str, bytes)) or not hasattr(value, '__iter__'):
            raise ValueError(f'is a list, not {value!r}')
        return [self._single(each, self.item) for each in value]

    def _single(self, value: Any, kind: type[Any]) -> Any:
        if self._is_switch and isinstance(value, bool):
            value = 'on' if value else 'off'
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise ValueError(f'is {TYPE_WORDS[kind]}, not {value!r}')
        if kind in (int, float):
            if not math.isfinite(value):
                raise ValueError(f'must be finite, not {value!r}')
            if not self.low <= value <= self.high:
                raise ValueError(f'must be {self._bounds()}, not {value!r}')
        if self.choices and value not in self.choices:
            raise ValueError(f'must be one of {", ".join(map(repr, self.choices))}, not {value!r}')
        return value

    @property
    def _is_switch(self) -> bool:
        """Return whether on and off are choices: YAML reads them as true and false."""
        return {'on', 'off'} <= set(self.choices)

    def _bounds(self) -> str:
        parts = [f'at least {self.low:g}'] * math.isfinite(self.low) + [
            f'at most {self.high:g}'
        ] * math.isfinite(self.high)
        return ' and '.join(parts)

    def descriptor(self) -> ParameterDescriptor:
        """Return what `ros2 param describe` shows."""
        # A whole number given for a real one would be refused by a static type: we check instead.
        made = ParameterDescriptor(
            name=self.name,
            description=self.about,
            read_only=self.fixed,
            dynamic_typing=isinstance(self.default, (float, list, tuple)) or self._is_switch,
        )
        if self.choices:
            made.additional_constraints = f'one of {", ".join(map(str, self.choices))}'
        elif math.isfinite(self.low) or math.isfinite(self.high):
            made.additional_constraints = self._bounds()
        # What shows sliders for bounds needs both of them.
        if math.isfinite(self.low) and math.isfinite(self.high):
            if isinstance(self.default, float):
                made.floating_point_range = [
                    FloatingPointRange(
                        from_value=float(self.low), to_value=float(self.high), step=0.0
                    )
                ]
            elif isinstance(self.default, int) and not isinstance(self.default, bool):
                made.integer_range = [
                    IntegerRange(from_value=int(self.low), to_value=int(self.high), step=1)
                ]
        return made


class Parameters:
    """
    The parameters of a node, as attributes.

    `check(values)` may refuse a combination by raising ClosedChainError or ValueError;
    `changed(names)` is told afterwards, and not at the start.
    """

    def __init__(
        self,
        node: Node,
        settings: Sequence[Setting],
        *,
        check: Callable[['Parameters'], None] | None = None,
        changed: Callable[[set[str]], None] | None = None,
    ) -> None:
        self._settings = {each.name: each for each in settings}
        self._check, self._refused = check, ''
        self._changed: Callable[[set[str]], None] | None = None
        self._values = {name: each.read(each.default) for name, each in self._settings.items()}
        node.add_on_set_parameters_callback(self._on_set)
        given = node._parameter_overrides  # what the start said; rclpy has no other name for it
        for setting in settings:
            try:
                # YAML does not say of what an empty list is, and rclpy takes it for no value.
                is_list, said = isinstance(setting.default, list), given.get(setting.name)
                empty = is_list and said is not None and said.value is None
                node.declare_parameter(
                    setting.name, setting.default, setting.descriptor(), ignore_override=empty
                )
            except (InvalidParameterValueException, InvalidParameterTypeException) as error:
                # rclpy's message ends with the reason that was given to it, or says the types
                reason = self._refused or f'parameter {setting.name!r}: {error}'
                raise ClosedChainError(reason, where=f'node {node.get_name()!r}') from None
        if check:
            check(self)
        self._changed = changed
        for name in given:
            # those of publishers and subscriptions are declared when these are made
            if not node.has_parameter(name) and not name.startswith(QUALITY):
                known = nearest_names(name, self._settings, most=1)
                node.get_logger().warning(f'there is no parameter {name!r}: ignored. {known}')

    def __getattr__(self, name: str) -> Any:
        values = self.__dict__.get('_values', {})
        if name not in values:
            raise AttributeError(name)
        return values[name]

    def as_dict(self) -> dict[str, Any]:
        """Return all values by name."""
        return dict(self._values)

    def _on_set(self, parameters: Iterable[Any]) -> SetParametersResult:
        before = self._values
        try:
            new = {
                each.name: self._read(each) for each in parameters if each.name in self._settings
            }
            self._values = {**before, **new}
            if self._check and self._changed:  # a start is checked as a whole
                self._check(self)
        except (ValueError, ClosedChainError) as error:
            self._values, self._refused = before, str(error)
            return SetParametersResult(successful=False, reason=str(error))
        if self._changed and new:
            self._changed(set(new))
        return SetParametersResult(successful=True)

    def _read(self, parameter: Any) -> Any:
        try:
            return self._settings[parameter.name].read(parameter.value)
        except ValueError as error:
            raise ValueError(f'parameter {parameter.name!r} {error}') from None
