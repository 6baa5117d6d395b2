"""
A list of assignments that computes some nodes: the common ground of code, LaTeX and cost.

What is used more than once is computed once and has a name; the rest is written where it is used,
as long as it stays readable.
"""

from collections.abc import Callable, Iterable
from typing import Any

from closed_chain_dynamics.symbolic.expression_graph import Node, needed

__all__ = ['Program', 'Term', 'flat', 'text_of']

Term = list[Any]  # a vector: nodes; or a matrix: rows, which are lists of nodes

LONGEST = 10  # operations written in one expression
RANK = {'add': 1, 'sub': 1, 'neg': 2, 'mul': 3, 'div': 3}
SIGNS = {'add': ' + ', 'sub': ' - ', 'mul': '*', 'div': '/'}


def flat(term: Term) -> list[Node]:
    """Return the nodes of a matrix row by row, or those of a vector."""
    return [node for row in term for node in row] if isinstance(term[0], list) else list(term)


class Program:
    """
    The assignments for some outputs.

    `named`: nodes with a name of their own, in order; `operations`: all nodes that compute
    something. With `fold`, what depends on parameters only is a number already.
    """

    def __init__(
        self, outputs: Iterable[Node], *, fold: bool = True, longest: int = LONGEST
    ) -> None:
        self.outputs = list(outputs)
        self.fold = fold
        self.operations = [node for node in needed(self.outputs) if not self.is_leaf(node)]
        uses: dict[int, int] = {}
        for node in self.operations:
            for arg in node.args:
                uses[arg.number] = uses.get(arg.number, 0) + 1
        for node in self.outputs:
            uses[node.number] = uses.get(node.number, 0) + 1
        self.uses = uses
        self.named: list[Node] = []
        sizes: dict[int, int] = {}
        for node in self.operations:
            size = 1 + sum(sizes.get(arg.number, 0) for arg in node.args)
            if (uses[node.number] > 1 and node.op != 'neg') or (longest and size > longest):
                self.named.append(node)
                size = 0
            sizes[node.number] = size

    def is_leaf(self, node: Node) -> bool:
        """Return whether a node is written as it is: an input or a number."""
        return not node.args or (self.fold and node.value is not None)


def text_of(
    node: Node, name_of: Callable[[Node], str | None], rank: int = 0, *, top: bool = True
) -> str:
    """
    Return a node as an expression that C and Python share.

    name_of(node) gives the text of leaves and of named nodes, None for others.
    """
    name = None if top else name_of(node)
    if name is not None:
        return f'({name})' if rank > 1 and name.startswith('-') else name
    own = RANK.get(node.op, 9)
    if node.op in ('sqrt', 'sin', 'cos', 'atan2'):
        return f'{node.op}({", ".join(text_of(arg, name_of, top=False) for arg in node.args)})'
    if node.op == 'neg':
        text = f'-{text_of(node.args[0], name_of, 3, top=False)}'
    elif node.op in SIGNS:
        left = text_of(node.args[0], name_of, own, top=False)
        right = text_of(node.args[1], name_of, own + (node.op in ('sub', 'div')), top=False)
        text = f'{left}{SIGNS[node.op]}{right}'
    else:
        return str(name_of(node))  # a leaf, which always has a text
    return f'({text})' if own < rank else text
