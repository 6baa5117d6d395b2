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

"""Parts of small URDF texts."""


def link(name):
    return (
        f'<link name="{name}"><inertial><mass value="1"/>'
        '<inertia ixx="1" iyy="1" izz="1"/></inertial></link>'
    )


def joint(
    name, parent, child, *, kind='continuous', axis='0 0 1', origin='', inside='', attributes=''
):
    return (
        f'<joint name="{name}" type="{kind}" {attributes}><origin {origin}/>'
        f'<parent link="{parent}"/><child link="{child}"/><axis xyz="{axis}"/>{inside}'
        '</joint>'
    )


def robot(*parts):
    return '<robot name="r" xmlns:cc="urn:closed_chain_dynamics">' + ''.join(parts) + '</robot>'
