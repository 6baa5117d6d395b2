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
Messages to arrays and arrays to messages, by the names of joints.

`measured_states` and `raw_states` read, `state_messages`, `scene_messages` and
`simulation_messages` write, `rotations` converts, `contacts` follows what is closed,
`diagnostics` tells how a node is, `qos` has the profiles. Nothing here is a node or knows one.
"""
