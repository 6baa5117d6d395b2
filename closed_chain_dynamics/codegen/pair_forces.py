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

"""What springs between bodies do, over symbols: their force, and its opposite wrenches."""

import casadi as ca

from closed_chain_dynamics.codegen.expressions import SX
from closed_chain_dynamics.codegen.source import SourceSpring

__all__ = ['pull', 'push_apart', 'stretch']


def push_apart(forces: list[SX], one: int, two: int, wrench: SX) -> None:
    """Put a wrench on body two and its opposite on body one."""
    forces[two] = forces[two] - wrench
    forces[one] = forces[one] + wrench


def stretch(spring: SourceSpring, position: SX) -> SX:
    """Return how far a spring is from where it rests: nowhere within its slack."""
    x = position - spring.rest
    return ca.fmax(x - spring.slack, ca.fmin(x, 0)) if spring.slack else x


def pull(spring: SourceSpring, position: SX, rate: SX) -> SX:
    """Return the force of a spring-damper."""
    return -spring.stiffness * stretch(spring, position) - spring.damping * rate
