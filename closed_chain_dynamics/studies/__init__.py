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
Questions about a model that take more than one computation, as ``closed-chain study`` asks them.

`validity`: do the torques of a motion give the motion back? `what_if`: the same run with other
masses, springs, friction, gravity. `consistency`: can a recorded motion be one of this model?
Each has its computation and its report; `figures` draws them, and `motion` has the motions that
they start from. It may import `control`, `simulation` and the rooms below them.
"""
