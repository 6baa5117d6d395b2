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

"""Energy of a mechanism in motion, and what became of it."""

__all__ = ['Energy']


class Energy(float):
    """
    Mechanical energy, kinetic plus potential [J], with the energy balance beside it.

    `balance` is what should stay constant: energy + dissipated + lost at impacts - work put in.
    """

    kinetic: float
    potential: float
    work: float
    dissipated: float
    lost: float
    balance: float

    def __new__(
        cls, kinetic: float, potential: float, work: float, dissipated: float, lost: float
    ) -> 'Energy':
        """Return the total; the parts become attributes."""
        energy = super().__new__(cls, kinetic + potential)
        energy.kinetic, energy.potential = kinetic, potential
        energy.work, energy.dissipated, energy.lost = work, dissipated, lost
        energy.balance = kinetic + potential + dissipated + lost - work
        return energy
