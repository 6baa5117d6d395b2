"""
Identification: parameters of a mechanism from measured motions and torques.

Regressor of closed chains, base parameters, motions that excite them, estimates with confidence
intervals, and inertias that bodies can have. It may import `studies` for motions, and all below.
"""
