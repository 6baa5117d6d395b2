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
Generated code: the algorithms of the core traced once for one mechanism in one structure.

`expressions` names types, `source` holds what a trace needs to know of a mechanism, `gathering`
fills it in, `clusters` finds what loops tie together; `tree`, `newton_euler`, `loops`, `passive`,
`pair_forces`, `tendons`, `wrapping`, `elimination`, `forward`, `inverse` and `manifold` are the
algorithms over CasADi's SX matrices;
`traces`, `run_traces` and `slope_traces` turn them into functions with named inputs and outputs;
`slope_columns`, `slope_pairs` and `slope_tables` are the numbers of analytic derivatives;
`printer` writes such a function as C, `c_text` adds its driver, `compiler` compiles it, `cache`
keeps it on the disk, `build` does all of this; `batch` and `rollouts` call it, `compiled` is the
class for users, `results` holds its answers; `runner` and `background` are for simulations;
`firmware_export` writes C for firmware.

CasADi is an optional extra. These modules may import `assembly` and everything below it.
"""

from closed_chain_dynamics.codegen.answers import GeneratedCodeWarning
from closed_chain_dynamics.codegen.compiled import CompiledMechanism, compile_mechanism
from closed_chain_dynamics.codegen.firmware_export import export
from closed_chain_dynamics.codegen.forward_derivatives import Derivatives, derivatives
from closed_chain_dynamics.codegen.functions import casadi
from closed_chain_dynamics.codegen.sensitivities import (
    InverseDerivatives,
    StepDerivatives,
    inverse_derivatives,
    step_derivatives,
)

__all__ = [
    'CompiledMechanism',
    'Derivatives',
    'GeneratedCodeWarning',
    'InverseDerivatives',
    'StepDerivatives',
    'casadi',
    'compile_mechanism',
    'derivatives',
    'export',
    'inverse_derivatives',
    'step_derivatives',
]
