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
One state in, forces or accelerations out: the algorithm of Yamane and Nakamura, a step a module.

`tree` is the dynamics after the virtual cut, `constraints` has J_C and W,
`generalized_coordinates` rank, theta_G, H, W and S (`explanation` says why, `idle_motion` what
moves nothing, `rank` what is usual nearby, `closing` finds closed poses), `inverse` and
`actuation` give torques, `forward` accelerations, `joint_reactions` and `link_loads` the forces in
joints and links (`constraint_forces` those of the loops), `impacts` the jump at a connection,
`contacts` what contacts push and drag with, `outside_forces` lets wrenches act for one
computation, and `singularities` says what is done where the loops lose rank. Results are `values`.
Nothing here moves in time or reads a file. It may import `model` and the rooms below it.
"""
