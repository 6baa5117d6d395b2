"""
Questions about a model that take more than one computation, as ``closed-chain study`` asks them.

`validity`: do the torques of a motion give the motion back? `what_if`: the same run with other
masses, springs, friction, gravity. `consistency`: can a recorded motion be one of this model?
Each has its computation and its report; `figures` draws them, and `motion` has the motions that
they start from. It may import `control`, `simulation` and the rooms below them.
"""
