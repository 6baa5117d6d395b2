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

"""What springs between bodies do: the force of their law, and its pair of opposite wrenches."""

from . import records as at
from .compiling import kernel
from .vectors import add_spatial, angular, linear, times

NO_LENGTH = 1e-12  # a spring shorter than this has no direction [m]


@kernel
def push_apart(m, one, two, f, force):
    """Put a force along a covector on body two, and its opposite on body one."""
    push, turn = times(force, linear(f)), times(force, angular(f))
    add_spatial(at.moving(m)[one].F, push, turn)
    add_spatial(at.moving(m)[two].F, times(-1.0, push), times(-1.0, turn))


@kernel
def stretch(spring, position):
    """Return how far a spring is from where it rests: nowhere within its slack."""
    x = position - spring.rest
    return max(x - spring.slack, min(x, 0.0))


@kernel
def pull(m, spring, position, rate):
    """Return the force of a spring-damper, and add what its damper takes to the dissipation."""
    at.totals(m).dissipation += spring.damping * rate * rate
    return -spring.stiffness * stretch(spring, position) - spring.damping * rate
