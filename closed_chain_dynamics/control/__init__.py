# Copyright 2026 the authors of closed_chain_dynamics
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""
Torque control without ROS: what the nodes carry messages to.

`law` computes torques from a state and a `reference`, which goes along a `trajectory` after a
`rehearsal` and away from singular poses (`singularity_guard`), or from how the device feels to its
user (`felt_law`, `feel`); `projection` makes torques of forces, `blending` lets none step,
`followed` says which reference counts, `sensed` what is known beside the joints, `base_state`
where the base of a floating robot is. `loop_state` completes partly measured states,
`state_tracking` refuses bad ones, `state_watch` tells faults by `joint_limits`, `soft_limits` push
back, `torque_guard` bounds what goes out, `safety_state` and `fallback` are for when in doubt, and
`control_loop` is one turn of all of them. `contact_detection` decides when to connect and cut.
`walking` keeps a figure on a `gait`, with `ground_forces` that feet can give. It may import
`simulation` and the rooms below it, but no messages and no clocks.
"""
