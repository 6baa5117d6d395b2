"""
Generated code: the algorithms of the core traced once for one mechanism in one structure.

`source` gathers what a trace needs to know of a mechanism; `tree`, `loops`, `passive`,
`elimination`, `forward`, `inverse` and `manifold` are the algorithms over CasADi's SX matrices;
`traces` turns them into functions with named inputs and outputs; `printer` writes such a function
as C, `build` compiles and caches it, `batch` calls it, `compiled` is what users hold; `export`
writes it for firmware.

CasADi is an optional extra. This room may import `assembly` and everything below it.
"""

from closed_chain_dynamics.codegen.compiled import (
    CompiledMechanism,
    GeneratedCodeWarning,
    compile_mechanism,
)
from closed_chain_dynamics.codegen.derivatives import Derivatives, derivatives
from closed_chain_dynamics.codegen.export import export
from closed_chain_dynamics.codegen.functions import casadi

__all__ = [
    'CompiledMechanism',
    'Derivatives',
    'GeneratedCodeWarning',
    'casadi',
    'compile_mechanism',
    'derivatives',
    'export',
]
