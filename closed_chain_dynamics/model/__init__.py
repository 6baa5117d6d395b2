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
A mechanism: a model that never changes, its structure, and a workspace for computations.

`packing` makes a `Model` of the bodies of a description; `loop_packing` and `attachments` lay out
what hangs on them. `structure` is what events change of it and `workspace` what kernels
write; `mechanism` holds all three, and `names` where names are in them. `changes` connects and
cuts, for everybody. `state_errors` says what is wrong with a state, `friction_lock` where friction
holds, `surfaces` bends what a contact slides on, `library` finds files and shipped models. What
lives here solves nothing. It may import `errors`, `description` and `kernels`.
"""
