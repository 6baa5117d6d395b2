"""
Torque control without ROS: what the nodes carry messages to.

`law` computes torques from a state and a reference (`trajectory`), `loop_state` completes partly
measured states, `state_tracking` refuses bad ones, `torque_guard` bounds what goes out, and
`control_loop` is one turn of all of them. `contact_detection` decides when to connect and cut.
It may import `simulation` and the rooms below it, but no messages and no clocks.
"""
