"""
Mechanisms in motion: `simulation` steps, connects and cuts.

`motion` holds state, time and energy books; `stepping` moves it on, with `step_grid` for the
times and `adaptive` for the integrator of variable step; `structure_events` connects and cuts.
`event_handling` asks who decides at an event: `contact_events` touch-down, lift-off, stick and
slip, `joint_events` stops and friction of joints. `stiffness` names what is too stiff for a step.
What lives here has a time and a history. It may import `recording`, `assembly`, `dynamics` and the
rooms below them.
"""
