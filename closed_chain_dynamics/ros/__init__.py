"""
The ROS 2 side: nodes that carry messages to the core and back, and hold no mathematics.

`torque_node`, `simulator_node`, `contact_node`, `loop_state_node`, `viewer_node` and `demo_node`
are one program each, and `running` puts several into one process. Under them: `parameters`
(described, bounded, checked on change), `qos`, `diagnostics`, `model_source` (a model from a
parameter or from the latched topic), `measured_states` (messages to arrays), `state_messages`,
`scene_messages` and `simulation_messages` (arrays to messages). `composition` says which programs
make a system; the launch files and, with `supervision`, `closed-chain up` start it.
"""
