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
What happened: the `log` of a simulation, its files (`log_files`, `mcap`), `plots`, `animation`.

`events` are the structure changes that a log has, `segments` the stretches between them, `tracks`
where everything was, `shapes`, `picture`, `raster`, `colours` what an animation is painted with;
`terminal` and `html` are how text is written for people. What is kept or shown of a run lives
here, and nothing that makes one. It may import `assembly`, `dynamics` and the rooms below them;
matplotlib and rosbags inside functions only.
"""
