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
The ROS 2 side: `nodes` that carry messages to the core and back, and hold no mathematics.

`messages` turns messages into arrays and back. Under both: `parameters` (described, bounded,
checked on change), `model_source` (a model from a parameter or from the latched topic),
`managed_node` (the life cycle) and `running`, which puts several nodes into one process.
`composition` says which programs make a system; the launch files and, with `supervision`,
`closed-chain up` start it. It may import every room but `cli`; no other room but `cli` imports it.
"""
