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
