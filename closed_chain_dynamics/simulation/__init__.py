"""
Mechanisms in motion: `simulation` steps, connects and cuts.

`contacts` decides touch-down, lift-off, stick and slip, and `adaptive` is the integrator of
variable step. What lives here has a time and a history. It may import `recording`, `assembly`,
`dynamics` and the rooms below them.
"""
