"""
A mechanism: a model that never changes, its structure, and a workspace for computations.

`packing` makes a `Model` of a description: `bodies` merges links, `loop_packing` and `attachments`
lay out what hangs on them. `structure` is what events change of it and `workspace` what kernels
write; `mechanism` holds all three, and `names` where names are in them. `changes` connects and
cuts, for everybody. `state_errors` says what is wrong with a state, `friction_lock` where friction
holds, `surfaces` bends what a contact slides on, `library` finds files and shipped models. What
lives here solves nothing. It may import `errors`, `description` and `kernels`.
"""
