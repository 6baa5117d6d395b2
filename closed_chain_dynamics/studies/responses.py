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
Responses of a run: numbers that expressions over its log give, as max(abs(v.crank)).

An expression is parsed as Python and walked over here; nothing in it is ever executed. Series are
arrays over the samples; a response is one finite number.
"""

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
import operator
from typing import Any

import numpy as np

from closed_chain_dynamics.arrays import Array
from closed_chain_dynamics.errors import ClosedChainError, NameNotFound
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.recording.log import Log
from closed_chain_dynamics.recording.segments import joint_width

__all__ = ['Response', 'read_response']


LONGEST_RESPONSE = 1000  # characters of an expression
MOST_REACTIONS = 200  # samples of a run at which forces in joints are computed
RESPONSE_SERIES = (
    'time', 'kinetic', 'potential', 'energy', 'work', 'dissipated', 'lost', 'balance', 'loop_error'
)  # fmt: skip
BY_NAME = ('q', 'v', 'tau', 'force', 'moment')  # q.crank, or q['left/crank']
RESPONSE_OPERATORS: dict[type, Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.Mod: operator.mod,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.And: np.logical_and,
    ast.Or: np.logical_or,
    ast.Not: np.logical_not,
}
RESPONSE_FUNCTIONS: dict[str, tuple[int, Callable[..., Any]]] = {  # name: (arguments, function)
    'max': (1, np.max),
    'min': (1, np.min),
    'mean': (1, np.mean),
    'std': (1, np.std),
    'rms': (1, lambda x: np.sqrt(np.mean(np.square(x)))),
    'first': (1, lambda x: np.atleast_1d(x)[0]),
    'last': (1, lambda x: np.atleast_1d(x)[-1]),
    'abs': (1, np.abs),
    'sqrt': (1, np.sqrt),
    'exp': (1, np.exp),
    'log': (1, np.log),
    'sin': (1, np.sin),
    'cos': (1, np.cos),
    'tan': (1, np.tan),
}
# of the whole log: arguments, and whether they are names
OF_LOG = {'integral': 1, 'at': 2, 'when': 1}
EVENT_KINDS = ('connect', 'cut', 'touch_down', 'bounce', 'lift_off', 'stick', 'slip')
OF_EVENTS = ('time_of', 'count', 'loss_of')  # (kind) or (kind, joint), as texts


@dataclass(frozen=True)
class Response:
    """A name and the expression that gives it."""

    name: str
    expression: str

    def check(self, robot: Mechanism) -> None:
        """Refuse, before any run, what cannot be evaluated for this mechanism."""
        _Checker(self, robot).visit(_tree(self))

    def of(self, log: Log) -> float:
        """Return the response of a run; NaN or an infinite number is refused as ValueError."""
        with np.errstate(all='ignore'):
            value = _Reader(log).value(_tree(self))
        if np.ndim(value):
            raise ValueError(f'{self.name} is a series, not a number')
        number = float(value)
        if not np.isfinite(number):
            raise ValueError(f'{self.name} is {number}')
        return number


def read_response(text: str) -> Response:
    """Return a Response from 'name=expression', or from an expression, which is its own name."""
    name, equals, expression = text.partition('=')
    if equals and name.strip().isidentifier() and not expression.startswith('='):
        return Response(name.strip(), expression.strip())
    return Response(text.strip(), text.strip())


def _refused(response: Response, why: str) -> ClosedChainError:
    return ClosedChainError(
        why,
        where=f'response {response.name!r}',
        repair='Write for instance peak=max(abs(v.crank)), last(dissipated), '
        "time_of('lift_off', 'foot') or max(loop_error).",
    )


@lru_cache(maxsize=256)  # every run of a study asks for the same few
def _tree(response: Response) -> ast.expr:
    if len(response.expression) > LONGEST_RESPONSE:
        raise _refused(response, f'an expression may have {LONGEST_RESPONSE} characters')
    try:
        return ast.parse(response.expression, mode='eval').body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise _refused(
            response, f'{response.expression!r} is not an expression that can be read'
        ) from None


def _named(node: ast.expr) -> tuple[str, str] | None:
    """Return (what, name) of q.crank or q['crank']."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return node.value.id, node.attr
    if (
        isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Name)
        and isinstance(node.slice, ast.Constant)
        and isinstance(node.slice.value, str)
    ):
        return node.value.id, node.slice.value
    return None


class _Checker:
    """Walks an expression before any run: every word and every name must exist."""

    def __init__(self, response: Response, robot: Mechanism) -> None:
        self.response, self.robot, self.where = response, robot, f'response {response.name!r}'

    def visit(self, node: ast.expr) -> None:
        """Refuse a node that has no value."""
        named = _named(node)
        if named:
            self._name(*named)
        elif isinstance(node, ast.Name):
            if node.id not in RESPONSE_SERIES:
                raise NameNotFound(
                    'series', node.id, [*RESPONSE_SERIES, *BY_NAME], where=self.where
                )
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            self._call(node, node.func.id)
        elif isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp)) and all(
            type(each) in RESPONSE_OPERATORS for each in _operators(node)
        ):
            for each in ast.iter_child_nodes(node):
                if isinstance(each, ast.expr):
                    self.visit(each)
        elif not (isinstance(node, ast.Constant) and type(node.value) in (int, float)):
            raise self._refuse(node)

    def _refuse(self, node: ast.AST) -> ClosedChainError:
        return _refused(self.response, f'{ast.unparse(node)!r} is not allowed in an expression')

    def _name(self, what: str, name: str) -> None:
        if what not in BY_NAME:
            raise NameNotFound('series', what, BY_NAME, where=self.where)
        robot = self.robot
        known = [*robot.joint_names, *robot.loop_names]
        if what == 'tau':
            known = list(robot.actuator_names)
        elif what in ('q', 'v'):
            known = [each for each in known if joint_width(robot, each, what == 'v') == 1]
        if name not in known:
            raise NameNotFound('joint', name, known, where=self.where)

    def _call(self, node: ast.Call, name: str) -> None:
        known = [*RESPONSE_FUNCTIONS, *OF_LOG, *OF_EVENTS]
        if name not in known:
            raise NameNotFound('function', name, known, where=self.where)
        if name in OF_EVENTS:
            texts = [each.value for each in node.args if isinstance(each, ast.Constant)]
            fits = len(texts) == len(node.args) in (1, 2) and all(
                isinstance(each, str) for each in texts
            )
            if not fits or node.keywords:
                raise self._refuse(node)
            if texts[0] not in EVENT_KINDS:
                raise NameNotFound('kind of event', texts[0], EVENT_KINDS, where=self.where)
            if len(texts) == 2:
                known = [*self.robot.joint_names, *self.robot.loop_names]
                if texts[1] not in known:
                    raise NameNotFound('joint', texts[1], known, where=self.where)
            return
        wanted = OF_LOG[name] if name in OF_LOG else RESPONSE_FUNCTIONS[name][0]
        if len(node.args) != wanted or node.keywords:
            raise self._refuse(node)
        for each in node.args:
            self.visit(each)


def _operators(node: ast.expr) -> list[ast.AST]:
    if isinstance(node, ast.Compare):
        return list(node.ops)
    return [node.op]  # type: ignore[attr-defined]


class _Reader:
    """Walks an expression over a log; `_Checker` has passed it."""

    def __init__(self, log: Log) -> None:
        self.log, self.time = log, log.time
        self._tau: Mapping[str, Array] | None = None

    def value(self, node: ast.expr) -> Any:
        """Return the value of a node: a number, or an array over the samples."""
        named = _named(node)
        if named:
            return self._series(*named)
        if isinstance(node, ast.Constant):
            return np.float64(node.value)  # type: ignore[arg-type]  # 9**9**9 is infinite, at once
        if isinstance(node, ast.Name):
            return getattr(self.log, node.id)
        if isinstance(node, ast.BinOp):
            return RESPONSE_OPERATORS[type(node.op)](self.value(node.left), self.value(node.right))
        if isinstance(node, ast.UnaryOp):
            return RESPONSE_OPERATORS[type(node.op)](self.value(node.operand))
        if isinstance(node, ast.BoolOp):
            values = [self.value(each) for each in node.values]
            return RESPONSE_OPERATORS[type(node.op)].reduce(np.broadcast_arrays(*values))  # type: ignore[attr-defined]
        if isinstance(node, ast.Compare):
            sides = [self.value(each) for each in (node.left, *node.comparators)]
            found = [
                RESPONSE_OPERATORS[type(op)](*pair)
                for op, *pair in zip(node.ops, sides, sides[1:])
            ]
            return np.logical_and.reduce(np.broadcast_arrays(*found))
        assert isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        return self._called(node.func.id, node.args)

    def _series(self, what: str, name: str) -> Array:
        if what == 'q':
            return self.log.joint(name)
        if what == 'v':
            return self.log.velocity(name)
        if what == 'tau':
            if self._tau is None:
                names, values = self.log.table('tau')
                self._tau = dict(zip(names, values.T))
            return self._tau[name]
        every = -(-len(self.log) // MOST_REACTIONS)
        wrenches = self.log.reactions(name, every=every)
        part = wrenches[:, :3] if what == 'force' else wrenches[:, 3:]
        places = np.arange(len(self.log)) // every  # as long as every other series
        return np.asarray(np.linalg.norm(part, axis=1)[places])

    def _called(self, name: str, arguments: list[ast.expr]) -> Any:
        if name in OF_EVENTS:
            texts = [each.value for each in arguments]  # type: ignore[attr-defined]
            return self._events(name, *texts)
        values = [self.value(each) for each in arguments]
        if name == 'integral':
            y = np.broadcast_to(values[0], self.time.shape)
            return float((0.5 * (y[1:] + y[:-1]) * np.diff(self.time)).sum())
        if name == 'at':
            return np.interp(values[1], self.time, np.broadcast_to(values[0], self.time.shape))
        if name == 'when':
            true = np.flatnonzero(np.broadcast_to(values[0], self.time.shape))
            if not len(true):
                raise ValueError('the condition of when() is never true')
            return self.time[true[0]]
        return RESPONSE_FUNCTIONS[name][1](*values)

    def _events(self, name: str, kind: str, joint: str | None = None) -> float:
        found = [
            each for each in self.log.events
            if each.kind == kind and (joint is None or each.name == joint)
        ]  # fmt: skip
        if name == 'count':
            return float(len(found))
        if name == 'loss_of':
            return float(sum(each.energy_lost for each in found))
        if not found:
            raise ValueError(f'there is no event {kind} {joint or ""}'.rstrip())
        return float(found[0].time)
