"""
Energies, inertia matrix and Newton-Euler of a symbolic tree, all in body frames.

A state is one entry per body: its Angle, or the node of how far it slides. Velocities and
accelerations are one node per body.
"""

from closed_chain_dynamics.symbolic.expression_graph import Node, total
from closed_chain_dynamics.symbolic.from_mechanism import (
    Body,
    Rows,
    State,
    SymbolicTree,
    Vector,
    cross,
    dot,
    plus,
    times,
)

__all__ = [
    'gravity_forces',
    'gravity_potential',
    'kinetic_energy',
    'mass_matrix',
    'newton_euler',
    'projected_mass_matrix',
]

Matrix = list[list[Node]]
Motion = dict[int, tuple[list[Node], list[Node]]]  # body -> angular, and of its origin


def _scaled(factor: Node, vector: Vector) -> list[Node]:
    return [factor * each for each in vector]


def _momentum(body: Body, omega: Vector, v: Vector) -> tuple[list[Node], list[Node]]:
    """Return linear momentum, and angular momentum about the body's origin."""
    return (
        plus(_scaled(body.mass, v), cross(omega, body.moment)),
        plus(times(body.inertia, omega), cross(body.moment, v)),
    )


def velocities(tree: SymbolicTree, state: State, rates: Vector) -> Motion:
    """Return angular velocity and velocity of the origin of every body, in its own frame."""
    zero = tree.graph.node(0.0)
    motion: Motion = {-1: ([zero] * 3, [zero] * 3)}
    for i, body in enumerate(tree.bodies):
        omega, v = motion[body.parent]
        v = tree.to_child(i, plus(v, cross(omega, tree.origin(i, state))), state)
        omega = tree.to_child(i, omega, state)
        moved = v if body.slides else omega
        moved[2] = moved[2] + rates[i]
        motion[i] = omega, v
    return motion


def kinetic_energy(tree: SymbolicTree, state: State, rates: Vector) -> Node:
    """Return T."""
    motion = velocities(tree, state, rates)
    terms: list[Node] = []
    for i, body in enumerate(tree.bodies):
        omega, v = motion[i]
        p, L = _momentum(body, omega, v)
        terms += [dot(v, p), dot(omega, L)]
    return total(tree.graph, terms) * 0.5


def projected_mass_matrix(tree: SymbolicTree, state: State, W: Rows) -> Matrix:
    """Return M_1 = sum of J_i^T I_i J_i, J_i the motion of body i per independent rate."""
    n = len(W[0])
    columns = [velocities(tree, state, [row[j] for row in W]) for j in range(n)]
    M = [[tree.graph.node(0.0)] * n for _ in range(n)]
    for i, body in enumerate(tree.bodies):
        for j in range(n):
            p, L = _momentum(body, *columns[j][i])
            for k in range(j + 1):
                omega, v = columns[k][i]
                M[j][k] = M[j][k] + (dot(v, p) + dot(omega, L))
    return _symmetric(M)


def _symmetric(lower: Rows) -> Matrix:
    n = len(lower)
    return [[lower[max(j, k)][min(j, k)] for k in range(n)] for j in range(n)]


def _carried_moments(tree: SymbolicTree, state: State) -> tuple[list[Node], list[Vector]]:
    """Return mass and first moment of each body with all that it carries, in its own frame."""
    masses = [body.mass for body in tree.bodies]
    moments = [body.moment for body in tree.bodies]
    for i in reversed(range(len(tree.bodies))):
        parent = tree.bodies[i].parent
        if parent >= 0:
            masses[parent] = masses[parent] + masses[i]
            moments[parent] = plus(
                moments[parent],
                tree.to_parent(i, moments[i], state),
                _scaled(masses[i], tree.origin(i, state)),
            )
    return masses, moments


def gravity_potential(tree: SymbolicTree, state: State) -> Node:
    """Return U_g."""
    masses, moments = _carried_moments(tree, state)
    return -total(
        tree.graph,
        [
            dot(
                tree.gravity,
                plus(
                    tree.to_parent(i, moments[i], state), _scaled(masses[i], tree.origin(i, state))
                ),
            )
            for i, body in enumerate(tree.bodies)
            if body.parent < 0
        ],
    )


def gravity_forces(tree: SymbolicTree, state: State) -> list[Node]:
    """Return g of the tree: what the joints need to carry the weight of what they carry."""
    masses, moments = _carried_moments(tree, state)
    gravity = {-1: tree.gravity}
    forces: list[Node] = []
    for i, body in enumerate(tree.bodies):
        here = gravity[i] = tree.to_child(i, gravity[body.parent], state)
        forces.append(-(masses[i] * here[2] if body.slides else cross(moments[i], here)[2]))
    return forces


def newton_euler(
    tree: SymbolicTree, state: State, rates: Vector, accelerations: Vector, *, gravity: bool
) -> list[Node]:
    """Return tau_O of the tree for a motion, with or without gravity."""
    zero = tree.graph.node(0.0)
    motion = velocities(tree, state, rates)
    lifted = [-g for g in tree.gravity] if gravity else [zero] * 3
    changes: Motion = {-1: ([zero] * 3, lifted)}
    forces: list[Vector] = []
    moments: list[Vector] = []
    for i, body in enumerate(tree.bodies):
        (alpha, a), (omega, _) = changes[body.parent], motion[body.parent]
        r = tree.origin(i, state)
        a = tree.to_child(i, plus(a, cross(alpha, r), cross(omega, cross(omega, r))), state)
        alpha, omega = tree.to_child(i, alpha, state), motion[i][0]
        own = [zero, zero, rates[i]]
        if body.slides:
            a = plus(
                a, _scaled(tree.graph.node(2.0), cross(omega, own)), [zero, zero, accelerations[i]]
            )
        else:
            alpha = plus(alpha, cross(omega, own), [zero, zero, accelerations[i]])
        changes[i] = alpha, a
        forces.append(
            plus(
                _scaled(body.mass, a),
                cross(alpha, body.moment),
                cross(omega, cross(omega, body.moment)),
            )
        )
        moments.append(
            plus(
                times(body.inertia, alpha),
                cross(body.moment, a),
                cross(omega, times(body.inertia, omega)),
            )
        )
    return _handed_down(tree, state, forces, moments)


def _handed_down(
    tree: SymbolicTree, state: State, forces: list[Vector], moments: list[Vector]
) -> list[Node]:
    """Return the force of every joint, given what each body needs."""
    tau: list[Node] = []
    for i in reversed(range(len(tree.bodies))):
        body = tree.bodies[i]
        tau.append((forces if body.slides else moments)[i][2])
        if body.parent >= 0:
            force = tree.to_parent(i, forces[i], state)
            forces[body.parent] = plus(forces[body.parent], force)
            moments[body.parent] = plus(
                moments[body.parent],
                tree.to_parent(i, moments[i], state),
                cross(tree.origin(i, state), force),
            )
    return tau[::-1]


def mass_matrix(tree: SymbolicTree, state: State) -> Matrix:
    """Return M of the tree by composite bodies."""
    n, zero = len(tree.bodies), tree.graph.node(0.0)
    masses, moments = _carried_moments(tree, state)
    inertias = [body.inertia for body in tree.bodies]
    M = [[zero] * n for _ in range(n)]
    for i in reversed(range(n)):
        body = tree.bodies[i]
        if body.parent >= 0:
            inertias[body.parent] = _sum_of_matrices(
                inertias[body.parent],
                _inertia_in_parent(tree, i, inertias[i], state, masses[i], moments[i]),
            )
        if body.slides:
            force, moment = [zero, zero, masses[i]], cross(moments[i], _z(tree))
        else:
            force, moment = cross(_z(tree), moments[i]), [row[2] for row in inertias[i]]
        j = i
        while j >= 0:
            M[i][j] = (force if tree.bodies[j].slides else moment)[2]
            force, moment = tree.to_parent(j, force, state), tree.to_parent(j, moment, state)
            moment = plus(moment, cross(tree.origin(j, state), force))
            j = tree.bodies[j].parent
    return _symmetric(M)


def _z(tree: SymbolicTree) -> list[Node]:
    return [tree.graph.node(value) for value in (0.0, 0.0, 1.0)]


def _sum_of_matrices(A: Rows, B: Rows) -> Matrix:
    return [plus(a, b) for a, b in zip(A, B)]


def _inertia_in_parent(
    tree: SymbolicTree, i: int, inertia: Rows, state: State, mass: Node, moment: Vector
) -> Matrix:
    """Return an inertia about the body's origin, turned and moved to the parent's origin."""
    columns = [tree.to_parent(i, list(column), state) for column in zip(*inertia)]
    rows = [tree.to_parent(i, list(row), state) for row in zip(*columns)]
    turned = [[rows[max(j, k)][min(j, k)] for k in range(3)] for j in range(3)]
    r, h = tree.origin(i, state), tree.to_parent(i, moment, state)
    # m (r.r E - r r^T) + 2 h.r E - h r^T - r h^T
    diagonal = dot(r, plus(_scaled(mass, r), h, h))
    moved = [[-(r[j] * (mass * r[k] + h[k]) + h[j] * r[k]) for k in range(3)] for j in range(3)]
    moved = [
        [moved[max(j, k)][min(j, k)] + (diagonal if j == k else 0.0) for k in range(3)]
        for j in range(3)
    ]
    return _sum_of_matrices(turned, moved)
