"""
Mechanisms in motion: `simulation` steps, connects and cuts.

`motion` holds state, time and energy books; `stepping` moves it on, with `step_grid` for the
times and `adaptive` for the integrator of variable step; `structure_events` connects and cuts, and
`contact_events` decides touch-down, lift-off, stick and slip. What lives here has a time and a
history. It may import `recording`, `assembly`, `dynamics` and the rooms below them.
"""
