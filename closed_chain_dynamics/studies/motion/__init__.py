"""
Torques of a given motion, as ``closed-chain torque`` tells them.

`reading` makes a complete motion of a file or of sines, `torques` computes, `report` tells, `plot`
draws. It may import what `studies` may.
"""
