"""
The ROS 2 side: `nodes` that carry messages to the core and back, and hold no mathematics.

`messages` turns messages into arrays and back. Under both: `parameters` (described, bounded,
checked on change), `model_source` (a model from a parameter or from the latched topic),
`managed_node` (the life cycle) and `running`, which puts several nodes into one process.
`composition` says which programs make a system; the launch files and, with `supervision`,
`closed-chain up` start it. It may import every room but `cli`; no other room but `cli` imports it.
"""
