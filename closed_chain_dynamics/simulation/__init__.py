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
Mechanisms in motion: `simulation` steps, connects and cuts.

`moving_mechanism` holds state, time and energy books; `stepping` moves it on, with `step_grid` for
the times and `adaptive` for the integrator of variable step; `structure_events` connects and cuts.
`event_handling` finds what an event leads to: `impact_events` what hits, `settling` what all
contacts (`contact_modes`) and joints (`joint_holds`) do next. `stiffness` names what is too stiff
for a step. `driven_simulation` takes torques, pushes and `wishes` between periods, as a node gets
them.
What lives here has a time and a history. It may import `recording`, `assembly`, `dynamics` and the
rooms below them.
"""
