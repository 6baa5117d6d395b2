"""
One state in, forces or accelerations out: the algorithm of papers 1 and 2, a step a module.

`tree` is the dynamics after the virtual cut, `coordinates` has rank, theta_G, H, W and S
(`explanation` says why, `idle_motion` what moves nothing), `inverse` and `actuation` give torques,
`forward` accelerations, `reactions` and `link_loads` the forces in joints and links
(`constraint_forces` those of the loops), `impact` the jump at a connection, `contact_forces` what
contacts push and drag with, and `singularities` what is done where the loops lose rank. Nothing
here moves in time or reads a file. It may import `model` and the rooms below it.
"""
