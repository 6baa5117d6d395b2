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

"""One small MJCF file for each thing that MuJoCo's compiler fills in."""

TETRAHEDRON = (
    '<asset><mesh name="tetra" vertex="0 0 0  0.3 0 0  0 0.2 0  0 0 0.4" '
    'face="0 2 1  0 1 3  0 3 2  1 2 3" {}/></asset>'
)
ARM = (
    '<body name="arm" pos="0 0 1"> <joint name="swing" axis="0 1 0" {joint}/> '
    '<geom type="capsule" size="0.02" fromto="0 0 0 0.5 0 0" {geom}/> {inside} </body>'
)


def world(*parts, before='', after=''):
    return f'<mujoco>{before}<worldbody>{"".join(parts)}</worldbody>{after}</mujoco>'


def arm(joint='', geom='', inside=''):
    return ARM.format(joint=joint, geom=geom, inside=inside)


FOREARM = (
    '<body name="fore" pos="0.5 0 0"> <joint name="bend" axis="0 1 0"/> '
    '<geom type="box" size="0.2 0.02 0.03" pos="0.2 0 0"/> '
    '<site name="tip" pos="0.4 0 0"/> </body>'
)
TWO = arm(inside=FOREARM)

FEATURES = {
    'gravity of the file': world(arm(), before='<option gravity="1 2 -3"/>'),
    'no gravity by a flag': world(arm(), before='<option><flag gravity="disable"/></option>'),
    'settotalmass': world(TWO, before='<compiler settotalmass="7"/>'),
    'boundmass and boundinertia': world(
        TWO, before='<compiler boundmass="3" boundinertia="0.5"/>'
    ),
    'balanceinertia': world(
        '<body><joint/><inertial pos="0 0 0.1" mass="1" diaginertia="0.1 0.1 0.9"/></body>',
        before='<compiler balanceinertia="true"/>',
    ),
    'inertiagrouprange': world(
        arm(inside='<geom group="3" size="0.1" pos="0.3 0 0"/>'),
        before='<compiler inertiagrouprange="0 2"/>',
    ),
    'inertiafromgeom': world(
        arm(inside='<inertial pos="0 0 0" mass="9" diaginertia="1 1 1"/>'),
        before='<compiler inertiafromgeom="true"/>',
    ),
    'shellinertia': world(arm(inside='<geom type="box" size="0.1 0.2 0.3" shellinertia="true"/>')),
    'three sizes of a capsule': world(arm(inside='<geom type="capsule" size="0.1 0.2 0.7"/>')),
    'geoms inside a frame': world(
        arm(
            inside='<frame pos="0.1 0 0" euler="0 0 30">'
            '<geom size="0.1 0.1 0.2" type="box"/></frame>'
        )
    ),
    'mesh': world(arm(inside='<geom type="mesh" mesh="tetra"/>'), before=TETRAHEDRON.format('')),
    'mesh with a mass': world(
        arm(inside='<geom type="mesh" mesh="tetra" mass="3" pos="0.1 0 0" euler="0 30 0"/>'),
        before=TETRAHEDRON.format(''),
    ),
    'mesh by its shell': world(
        arm(inside='<geom type="mesh" mesh="tetra"/>'),
        before=TETRAHEDRON.format('inertia="shell"'),
    ),
    'capsule fitted to a mesh': world(
        arm(inside='<geom type="capsule" mesh="tetra"/>'), before=TETRAHEDRON.format('')
    ),
    'replicate': world(
        '<replicate count="3" offset="0 0.5 0"><body><joint axis="1 0 0"/>'
        '<geom type="box" size="0.1 0.1 0.2" pos="0 0.1 0"/></body></replicate>'
    ),
    'freejoint align': world(
        '<body name="b" pos="0 0 1"><freejoint align="true"/>'
        '<geom type="box" size="0.1 0.2 0.3" pos="0.3 0 0" euler="0 0 20"/></body>'
    ),
    'springdamper': world(arm(joint='springdamper="0.2 0.7" ref="10" springref="30"')),
    'damped motor': world(
        TWO, after='<actuator><motor joint="bend" gear="5" damping="0.1"/></actuator>'
    ),
    'armature': world(
        TWO.replace('name="bend"', 'name="bend" armature="0.2"'),
        after='<actuator><motor joint="bend" gear="5" armature="0.01"/></actuator>',
    ),
    'weight of one body carried': world(
        TWO.replace('<body name="fore"', '<body name="fore" gravcomp="0.6"')
    ),
    'weight carried': world(
        TWO.replace('<body ', '<body gravcomp="0.75" '), before='<option gravity="0 0 -9.81"/>'
    ),
    'unnamed bodies': world(
        '<body><joint/><joint axis="1 0 0"/><geom size="0.1" pos="0.1 0 0"/>'
        '<body name="body_1_joint"><joint name="body_3"/><geom size="0.1" pos="0.1 0 0"/></body>'
        '<body><geom size="0.1" pos="0.2 0 0"/></body></body>'
        '<body name="body_1"><joint name="body_1_joint"/><geom size="0.1" pos="0.1 0 0"/></body>'
    ),
}
