"""The graph of expressions: equal to NumPy, and its derivatives to complex steps."""

from hypothesis import given, strategies as st
import numpy as np
import pytest

from closed_chain_dynamics.symbolic.expression_graph import Graph, evaluate, gradient, needed, rate

STEP = 1e-30  # of a complex step: no cancellation, so that errors are those of rounding
ROUNDING = 1e-12
OPERATIONS = {
    'add': lambda a, b: a + b,
    'sub': lambda a, b: a - b,
    'mul': lambda a, b: a * b,
    'div': lambda a, b: a / (2.5 + b * b),
    'neg': lambda a, b: -a + b,
}
FUNCTIONS = {'sin': np.sin, 'cos': np.cos, 'sqrt': lambda x: np.sqrt(2.0 + x * x)}


def grow(recipe, leaves, function):
    """Return what a recipe makes of leaves: nodes, or plain numbers."""
    values = list(leaves)
    for kind, i, j in recipe:
        a, b = values[i % len(values)], values[j % len(values)]
        values.append(OPERATIONS[kind](a, b) if kind in OPERATIONS else function(kind, a))
    return values[-1]


def as_node(kind, a):
    graph = a.graph
    return graph.function(kind, 2.0 + a * a if kind == 'sqrt' else a)


RECIPES = st.lists(
    st.tuples(st.sampled_from([*OPERATIONS, *FUNCTIONS]), st.integers(0, 30), st.integers(0, 30)),
    min_size=1,
    max_size=14,
)


@given(RECIPES, st.lists(st.floats(-1.5, 1.5), min_size=3, max_size=3))
def test_values_and_both_kinds_of_derivative_are_right(recipe, numbers):
    graph = Graph()
    x = [graph.input(f'x_{k}') for k in range(3)]
    leaves = [*x, graph.parameter('p', 0.7), graph.node(-1.0), graph.node(0.0)]
    node = grow(recipe, leaves, as_node)
    at = dict(zip(x, numbers))

    def plain(values):
        return grow(recipe, [*values, 0.7, -1.0, 0.0], lambda kind, a: FUNCTIONS[kind](a))

    value = plain(np.array(numbers))
    assert evaluate([node], at)[0] == pytest.approx(value, rel=ROUNDING, abs=ROUNDING)
    exact = [np.imag(plain(np.array(numbers) + 1j * STEP * np.eye(3)[k])) / STEP for k in range(3)]
    scale = max(1.0, abs(value), *map(abs, exact))
    reverse = evaluate(gradient(node, x), at)
    np.testing.assert_allclose(reverse, exact, rtol=1e-9, atol=1e-9 * scale)
    forward = evaluate(rate([node], dict(zip(x, [graph.node(s) for s in (0.3, -1.1, 0.8)]))), at)
    np.testing.assert_allclose(
        forward[0], np.dot(exact, (0.3, -1.1, 0.8)), rtol=1e-9, atol=1e-9 * scale
    )


def test_derivative_of_the_arctangent():
    graph = Graph()
    x, y = graph.input('x'), graph.input('y')
    angle = graph.function('atan2', y, x)
    slopes = evaluate(gradient(angle, [x, y]), {x: -0.3, y: 0.4})
    np.testing.assert_allclose(slopes, [-0.4 / 0.25, -0.3 / 0.25], rtol=ROUNDING)


def test_nothing_is_there_twice_and_zeros_drop_out():
    graph = Graph()
    x, y = graph.input('x'), graph.input('y')
    assert x * y + x is y * x + x
    assert (x - y) is -(y - x)
    assert x * 0.0 is graph.node(0.0) and x + 0.0 is x and x * 1.0 is x and x - x is 0.0 * y
    assert graph.function('cos', -x) is graph.function('cos', x)
    assert len(needed([x * y + x])) == 4


def test_what_depends_on_parameters_only_is_a_number():
    graph = Graph()
    length, mass, x = graph.parameter('l', 0.5), graph.parameter('m', 3.0), graph.input('x')
    assert (mass * length).value == 1.5
    product = mass * (length * x)
    assert product.args[0].value == 1.5 and product.args[1] is x


def test_many_poses_are_evaluated_at_once():
    graph = Graph()
    x = graph.input('x')
    poses = np.linspace(0, 1, 7).reshape(7, 1) * np.ones(3)
    np.testing.assert_allclose(
        evaluate([graph.function('sin', x) * 2.0, graph.node(4.0)], {x: poses}),
        np.stack([2 * np.sin(poses), np.full((7, 3), 4.0)], axis=-1),
    )
