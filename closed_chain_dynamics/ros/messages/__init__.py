"""
Messages to arrays and arrays to messages, by the names of joints.

`measured_states` and `raw_states` read, `state_messages`, `scene_messages` and
`simulation_messages` write, `rotations` converts, `contacts` follows what is closed,
`diagnostics` tells how a node is, `qos` has the profiles. Nothing here is a node or knows one.
"""
