"""
A description as arrays, and the mechanism that users hold.

`packing` lays a description out as the kernels read it, `mechanism` gives names to it and connects
and cuts, `surfaces` bends what a contact slides on, `friction_lock` tells where one cannot move,
and `library` finds files and shipped models. What lives here knows how arrays are laid out and
solves nothing. It may import `errors`, `description` and `kernels`.
"""
