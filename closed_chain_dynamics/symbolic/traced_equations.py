"""
Equations of motion of mechanisms with ball, planar and free joints: traced instead of written out.

    M_1 a_1 + c_1 + g_1 + tau_1s + tau_1d = tau_1

in the rates v_1 of theta_G, all positions q given, loops eliminated as by the method 'ic'. Such
joints have no angles to write sines of, so there is nothing to typeset: what comes out is C, and
what it costs. Every term is inverse dynamics of the mechanism with something taken away.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
import time
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closed_chain_dynamics.codegen.build import HERE, require_casadi
from closed_chain_dynamics.codegen.source import Body, Law, Source, gather
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['TracedEquations']

Array = NDArray[np.float64]
SX = Any
SILENT = Law(0.0, 0.0, -np.inf, np.inf, None, False, armature=0.0)
# kinds of the table of costs, by the names of CasADi's operations
KINDS = {
    '+-': ('ADD', 'SUB', 'NEG', 'TWICE'),
    '*': ('MUL', 'SQ'),
    '/': ('DIV', 'INV'),
    'sqrt': ('SQRT',),
    'sin/cos': ('SIN', 'COS', 'TANH'),
    'atan': ('ATAN2',),
}


class TracedEquations:
    """Terms of the equations of motion as CasADi functions of q, v_1 and a_1."""

    method, position = 'ic', 'q'

    def __init__(self, robot: Mechanism, pose: ArrayLike) -> None:
        require_casadi()
        self.robot = robot
        self.source: Source = gather(robot, np.array(pose, dtype=float))
        self.independent = self.source.independent_names
        names = self.source.coordinate_names
        self.dependent = [name for name in names if name not in self.independent]
        self.branches: dict[str, str] = {}
        self.seconds: dict[str, float] = {}
        self._functions: dict[str, Any] = {}

    @cached_property
    def notes(self) -> list[str]:
        """Return what the equations leave out."""
        laws = [law for body in self.source.bodies for law in body.laws]
        left = [law for law in laws if law.friction or law.stop]
        told = 'friction and limit moments are not part of the equations'
        return [told] if left else []

    def term(self, name: str) -> Any:
        """Return the casadi.Function of a term; its inputs are those of q, v_1, a_1 it needs."""
        if name not in self._functions:
            begun = time.perf_counter()
            self._functions[name] = self._traced(name)
            self.seconds[name] = time.perf_counter() - begun
        return self._functions[name]

    def _traced(self, name: str) -> Any:
        import casadi as ca

        q = ca.SX.sym('q', self.source.nq)
        v_1, a_1 = (ca.SX.sym(each, len(self.independent)) for each in ('v_1', 'a_1'))
        zero = ca.SX.zeros(len(self.independent))
        source, still = self.source, _without(self.source, springs=True, laws=True)
        no_weight = replace(still, gravity=np.zeros(3))
        light = replace(_massless(source), gravity=np.zeros(3))
        terms: dict[str, Callable[[], SX]] = {
            'tau_1': lambda: _torques(_only_damping(source), q, v_1, a_1),
            'M_1': lambda: ca.jacobian(_torques(no_weight, q, zero, a_1), a_1),
            'c_1': lambda: _torques(no_weight, q, v_1, zero),
            'g_1': lambda: _torques(still, q, zero, zero),
            'tau_1s': lambda: _torques(_without(light, laws=True), q, zero, zero),
            'tau_1d': lambda: _torques(_slack(_only_damping(light)), q, v_1, zero),
            'W': lambda: ca.jacobian(_motion(source, q, v_1, None), v_1),
            'q': lambda: q,
        }
        out = ca.densify(terms[name]())
        inputs = {'q': q, 'v_1': v_1, 'a_1': a_1}
        needed = {k: x for k, x in inputs.items() if k == 'q' or any(ca.which_depends(out, x))}
        symbols = list(needed.values())  # the transpose: CasADi counts columns first, C rows
        return ca.Function(name, symbols, [out.T], list(needed), [name], {'cse': True})

    def operations(self, name: str) -> dict[str, int]:
        """Return how many operations of each kind a term takes, and how many values it keeps."""
        import casadi as ca

        kinds = {
            getattr(ca, f'OP_{each}'): kind for kind, names in KINDS.items() for each in names
        }
        function = self.term(name)
        counts = dict.fromkeys([*KINDS, ':='], 0)
        for k in range(function.n_instructions()):
            kind = kinds.get(function.instruction_id(k))
            if kind is not None:
                counts[kind] += 1
        counts[':='] = function.nnz_out(0)
        return counts

    def c_source(self, terms: list[str]) -> str:
        """Return a C99 file with one function for each term, matrices row by row."""
        from closed_chain_dynamics.codegen.printer import print_function
        from closed_chain_dynamics.codegen.traces import Trace
        from closed_chain_dynamics.symbolic.code import about, identifier

        prefix = identifier(self.robot.name)
        lines = ['/*', *(f' * {line}'.rstrip() for line in about(self, terms)), ' */']
        scalars = (HERE / 'real.h').read_text().split('#else\ntypedef double real __attr')[0]
        parts = ['\n'.join(lines), scalars, '#endif\n#endif\n']
        for term in terms:
            f = self.term(term)
            inputs = {f.name_in(k): f.nnz_in(k) for k in range(f.n_in())}
            traced = Trace(f'{prefix}_{term}_flat', f, inputs, {term: f.size_out(0)})
            listed = ', '.join(f'const double {each}[{n}]' for each, n in inputs.items())
            n_out = f.nnz_out(0)
            body = [f'void {prefix}_{term}({listed}, double out[{n_out}])', '{']
            body += [f'    double x[{sum(inputs.values())}];', '    int i, at = 0;']
            body += [
                f'    for (i = 0; i < {n}; ++i) x[at++] = {each}[i];' for each, n in inputs.items()
            ]
            body += [f'    {traced.name}(x, out);', '}']
            parts += [print_function(traced), '\n'.join(body)]
        return '\n'.join([*parts, ''])


def _without(source: Source, *, springs: bool = False, laws: bool = False) -> Source:
    """Return the mechanism without springs, or without forces of its joints."""
    if springs:
        source = replace(source, springs=())
    if laws:  # armature is inertia and stays
        source = _with_laws(source, lambda law: replace(SILENT, armature=law.armature))
    return source


def _with_laws(source: Source, change: Callable[[Law], Law]) -> Source:
    return replace(
        source,
        bodies=tuple(
            replace(body, laws=tuple(change(law) for law in body.laws)) for body in source.bodies
        ),
        loops=tuple(
            replace(loop, laws=tuple(change(law) for law in loop.laws)) for loop in source.loops
        ),
    )


def _only_damping(source: Source) -> Source:
    return _with_laws(
        source, lambda law: replace(SILENT, damping=law.damping, armature=law.armature)
    )


def _slack(source: Source) -> Source:
    """Return the mechanism whose springs only damp."""
    return replace(
        source, springs=tuple(replace(spring, stiffness=0.0) for spring in source.springs)
    )


def _massless(source: Source) -> Source:
    def light(body: Body) -> Body:
        return replace(body, mass=0.0, inertia=np.zeros((3, 3)), lift=0.0)

    source = replace(source, bodies=tuple(light(body) for body in source.bodies))
    return _with_laws(source, lambda law: replace(law, armature=0.0))


def _motion(source: Source, q: SX, v_1: SX, a_1: SX | None) -> SX:
    """Return all velocities, or all accelerations where a_1 is given."""
    from closed_chain_dynamics.codegen.traces import completed_acceleration, completed_velocity

    if a_1 is None:
        return completed_velocity(source, q, v_1)
    return completed_acceleration(source, q, completed_velocity(source, q, v_1), a_1)


def _torques(source: Source, q: SX, v_1: SX, a_1: SX) -> SX:
    """Return the generalized forces W^T tau_O of a motion."""
    from closed_chain_dynamics.codegen.traces import generalized_forces

    v, a = _motion(source, q, v_1, None), _motion(source, q, v_1, a_1)
    return generalized_forces(source, q, v, a)
