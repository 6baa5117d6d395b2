"""
Torque control without ROS: what the nodes carry messages to.

`law` computes torques from a state and a `reference`, which goes along a `trajectory` after a
`rehearsal` and away from singular poses (`singularity_guard`); `loop_state` completes partly
measured states, `state_tracking` refuses bad ones, `state_watch` tells faults by `joint_limits`,
`soft_limits` push back, `torque_guard` bounds what goes out, `safety_state` and `fallback` are for
when in doubt, and `control_loop` is one turn of all of them. `contact_detection` decides when to
connect and cut.
It may import `simulation` and the rooms below it, but no messages and no clocks.
"""
