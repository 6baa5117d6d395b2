"""
Expressions as a graph in which nothing is written twice.

Equations of a mechanism with loops are large when they are written out, and small as a list of
assignments. So they are never written out: every sum and product is one node, equal nodes are the
same node, and derivatives go node by node. Common subexpressions are found while they arise;
SymPy is needed for output only (see `printing`).

Nodes are numbered in the order in which they arise, arguments first.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ['Graph', 'Node', 'evaluate', 'gradient', 'needed', 'rate', 'total']

FUNCTIONS: Mapping[str, np.ufunc] = {
    'sqrt': np.sqrt,
    'sin': np.sin,
    'cos': np.cos,
    'atan2': np.arctan2,
}
STRIDE = 1024  # nodes between two calls of `progress`
ARITHMETIC: Mapping[str, np.ufunc] = {
    'add': np.add,
    'sub': np.subtract,
    'mul': np.multiply,
    'div': np.divide,
    'neg': np.negative,
}


def _rule(op: str) -> np.ufunc:
    return ARITHMETIC.get(op) or FUNCTIONS[op]


class Node:
    """
    One operation, number, parameter or input.

    `value` is a number where nothing but numbers and parameters are in it, else None.
    """

    __slots__ = ('args', 'graph', 'name', 'number', 'op', 'value')
    value: Any  # float or None; `op` tells which, and no type checker follows that

    def __init__(
        self, graph: 'Graph', op: str, args: tuple['Node', ...], name: str, value: float | None
    ) -> None:
        self.graph, self.op, self.args, self.name, self.value = graph, op, args, name, value
        self.number = len(graph.nodes)

    def __repr__(self) -> str:
        return f'<{self.op} {self.name or self.args or self.value}>'

    def __add__(self, other: 'Node | float') -> 'Node':
        return self.graph.add(self, self.graph.node(other))

    def __sub__(self, other: 'Node | float') -> 'Node':
        return self.graph.sub(self, self.graph.node(other))

    def __mul__(self, other: 'Node | float') -> 'Node':
        return self.graph.mul(self, self.graph.node(other))

    def __truediv__(self, other: 'Node | float') -> 'Node':
        return self.graph.div(self, self.graph.node(other))

    def __neg__(self) -> 'Node':
        return self.graph.neg(self)

    __radd__, __rmul__ = __add__, __mul__

    def __rsub__(self, other: 'Node | float') -> 'Node':
        return self.graph.sub(self.graph.node(other), self)


class Graph:
    """Makes nodes, each once; rules of arithmetic that shorten them are applied at once."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._known: dict[tuple[object, ...], Node] = {}
        # called with the number of nodes from time to time
        self.progress: Callable[[int], object] | None = None

    def _intern(
        self, op: str, args: tuple[Node, ...] = (), name: str = '', value: float | None = None
    ) -> Node:
        key: tuple[object, ...] = (
            (op, name, value) if not args else (op, *[arg.number for arg in args])
        )
        node = self._known.get(key)
        if node is None:
            if args and all(arg.value is not None for arg in args):
                value = float(_rule(op)(*[arg.value for arg in args]))
            node = self._known[key] = Node(self, op, args, name, value)
            self.nodes.append(node)
            if self.progress and not node.number % STRIDE:
                self.progress(node.number)
        return node

    def node(self, value: Node | float) -> Node:
        """Return a node as it is, or the node of a number."""
        return value if isinstance(value, Node) else self._intern('number', value=float(value))

    def parameter(self, name: str, value: float) -> Node:
        """Return a named constant; zero and one stay numbers, so that terms drop out."""
        if value in (0.0, 1.0, -1.0):
            return self.node(value)
        if value < 0.0:
            return self.neg(self._intern('parameter', name=name, value=-float(value)))
        return self._intern('parameter', name=name, value=float(value))

    def input(self, name: str) -> Node:
        """Return a variable."""
        return self._intern('input', name=name)

    def add(self, a: Node, b: Node) -> Node:
        """Return a + b."""
        if a.op == b.op == 'number':
            return self.node(a.value + b.value)
        if _is(a, 0.0):
            return b
        if _is(b, 0.0):
            return a
        if b.op == 'neg':
            return self.sub(a, b.args[0])
        if a.op == 'neg':
            return self.sub(b, a.args[0])
        if a is b:
            return self.mul(self.node(2.0), a)
        return self._intern('add', (a, b) if a.number < b.number else (b, a))

    def sub(self, a: Node, b: Node) -> Node:
        """Return a - b."""
        if a.op == b.op == 'number':
            return self.node(a.value - b.value)
        if a is b:
            return self.node(0.0)
        if _is(a, 0.0):
            return self.neg(b)
        if _is(b, 0.0):
            return a
        if b.op == 'neg':
            return self.add(a, b.args[0])
        if a.op == 'neg':
            return self.neg(self.add(a.args[0], b))
        if a.op == 'sub' and b.value is not None and a.value is None:  # constants together
            if a.args[1].value is not None:
                return self.sub(a.args[0], self.add(a.args[1], b))
            if a.args[0].value is not None:
                return self.sub(self.sub(a.args[0], b), a.args[1])
        if ('sub', b.number, a.number) in self._known:
            return self.neg(self._intern('sub', (b, a)))
        return self._intern('sub', (a, b))

    def neg(self, a: Node) -> Node:
        """Return -a."""
        if a.op == 'number':
            return self.node(-a.value)
        return a.args[0] if a.op == 'neg' else self._intern('neg', (a,))

    def mul(self, a: Node, b: Node) -> Node:
        """Return a b; constants are drawn together."""
        if a.op == b.op == 'number':
            return self.node(a.value * b.value)
        for one, other in ((a, b), (b, a)):
            if _is(one, 0.0):
                return one
            if _is(one, 1.0):
                return other
            if _is(one, -1.0):
                return self.neg(other)
            if one.op == 'neg':
                return self.neg(self.mul(one.args[0], other))
            if (
                one.value is not None
                and other.op == 'mul'
                and other.value is None
                and other.args[0].value is not None
            ):
                return self.mul(self.mul(one, other.args[0]), other.args[1])
        # constants first
        ordered = sorted((a, b), key=lambda node: (node.value is None, node.number))
        return self._intern('mul', tuple(ordered))

    def div(self, a: Node, b: Node) -> Node:
        """Return a / b."""
        if a.op == b.op == 'number':
            return self.node(a.value / b.value)
        if _is(a, 0.0) or _is(b, 1.0):
            return a
        if a.op == 'neg':
            return self.neg(self.div(a.args[0], b))
        if b.op == 'neg':
            return self.neg(self.div(a, b.args[0]))
        if b.value is not None and a.value is None:
            return self.mul(self.div(self.node(1.0), b), a)
        return self._intern('div', (a, b))

    def function(self, name: str, *args: Node) -> Node:
        """Return sqrt, sin, cos or atan2 of nodes."""
        if all(arg.op == 'number' for arg in args):
            return self.node(FUNCTIONS[name](*[arg.value for arg in args]))
        if args[0].op == 'neg' and name in ('sin', 'cos'):
            inner = self.function(name, *args[0].args)
            return self.neg(inner) if name == 'sin' else inner
        return self._intern(name, args)


def _is(node: Node, value: float) -> bool:
    return node.op == 'number' and bool(node.value == value)


def total(graph: Graph, terms: Iterable[Node]) -> Node:
    """Return the sum of nodes; 0 of none."""
    result = graph.node(0.0)
    for term in terms:
        result = result + term
    return result


def needed(outputs: Iterable[Node]) -> list[Node]:
    """Return all nodes that some nodes are made of, in order, themselves included."""
    seen: dict[int, Node] = {}
    stack = list(outputs)
    while stack:
        node = stack.pop()
        if node.number not in seen:
            seen[node.number] = node
            stack.extend(node.args)
    return [seen[number] for number in sorted(seen)]


def _partials(node: Node) -> tuple[Node, ...]:
    """Return the partial derivatives of a node with respect to its arguments."""
    graph = node.graph
    one = graph.node(1.0)
    if node.op == 'add':
        return one, one
    if node.op == 'sub':
        return one, -one
    if node.op == 'neg':
        return (-one,)
    if node.op == 'mul':
        return node.args[1], node.args[0]
    if node.op == 'div':
        inverse = one / node.args[1]
        return inverse, -(node * inverse)
    if node.op == 'sqrt':
        return (graph.node(0.5) / node,)
    if node.op == 'sin':
        return (graph.function('cos', *node.args),)
    if node.op == 'cos':
        return (-graph.function('sin', *node.args),)
    if node.op == 'atan2':
        y, x = node.args
        inverse = one / (x * x + y * y)
        return x * inverse, -(y * inverse)
    return ()


def rate(outputs: Sequence[Node], seeds: Mapping[Node, Node]) -> list[Node]:
    """Return the derivatives of nodes along a direction, {input: its rate}: forward mode."""
    if not outputs:
        return []
    dots = {node.number: value for node, value in seeds.items()}
    zero = outputs[0].graph.node(0.0)
    for node in needed(outputs):
        if node.number not in dots and any(arg.number in dots for arg in node.args):
            dot = total(
                node.graph,
                [
                    partial * dots[arg.number]
                    for arg, partial in zip(node.args, _partials(node))
                    if arg.number in dots
                ],
            )
            if not _is(dot, 0.0):
                dots[node.number] = dot
    return [dots.get(node.number, zero) for node in outputs]


def gradient(output: Node, inputs: Sequence[Node]) -> list[Node]:
    """Return the derivatives of one node with respect to inputs: reverse mode."""
    graph = output.graph
    wanted = {node.number for node in inputs}
    nodes = needed([output])
    moves: set[int] = set()  # nodes that depend on an input
    for node in nodes:
        if node.number in wanted or any(arg.number in moves for arg in node.args):
            moves.add(node.number)
    adjoint = {output.number: graph.node(1.0)}
    for node in reversed(nodes):
        if node.number not in adjoint or node.number not in moves or node.number in wanted:
            continue
        for arg, partial in zip(node.args, _partials(node)):
            if arg.number in moves:
                share = adjoint[node.number] * partial
                adjoint[arg.number] = adjoint.get(arg.number, graph.node(0.0)) + share
    return [adjoint.get(node.number, graph.node(0.0)) for node in inputs]


def evaluate(outputs: Sequence[Node], values: Mapping[Node, ArrayLike]) -> NDArray[np.float64]:
    """
    Return the numbers that nodes have, as an array with one more axis than the inputs' values.

    values: {input node: number or array}; arrays of many poses are worked through at once.
    """
    known = {node.number: np.asarray(value, dtype=float) for node, value in values.items()}
    shape = np.broadcast_shapes(*[value.shape for value in known.values()])
    with np.errstate(invalid='ignore'):  # beyond the reach of a loop it is NaN
        for node in needed(outputs):
            if node.number not in known:
                known[node.number] = (
                    node.value
                    if node.value is not None
                    else _rule(node.op)(*[known[arg.number] for arg in node.args])
                )
    return (
        np.stack([np.broadcast_to(known[node.number], shape) for node in outputs], axis=-1)
        if outputs
        else np.empty((*shape, 0))
    )
