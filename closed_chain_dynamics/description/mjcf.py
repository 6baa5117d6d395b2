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
MJCF, MuJoCo's dialect, compiled by MuJoCo itself.

Includes, defaults, frames, meshes and their inertia, settotalmass and all else that the compiler
fills in are in its model; a description is filled from there. A joint's position is MuJoCo's
`qpos` (`ref` included); its pose at `qpos0` and every keyframe become assemblies. What the
description has no place for is named once per kind in a note.
"""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from closed_chain_dynamics.description.actuators import resolve
from closed_chain_dynamics.description.checks import check_references, check_structure
from closed_chain_dynamics.description.document import Document
from closed_chain_dynamics.description.elements import Assembly, Description
from closed_chain_dynamics.description.fields import Reader
from closed_chain_dynamics.description.inertia_checks import settle_inertias
from closed_chain_dynamics.description.left_out import LeftOut
from closed_chain_dynamics.description.mjcf_actuators import read_motors, with_efforts
from closed_chain_dynamics.description.mjcf_bodies import Bodies
from closed_chain_dynamics.description.mjcf_compile import Compiled, compile_mjcf
from closed_chain_dynamics.description.mjcf_constraints import read_equalities
from closed_chain_dynamics.description.mjcf_tendons import Tendons
from closed_chain_dynamics.description.names import Names
from closed_chain_dynamics.errors import DescriptionError

__all__ = ['read_mjcf']


def read_mjcf(
    reader: Reader,
    document: Document,
    *,
    actuated: str | Iterable[str] | None = None,
    root_joint: str = 'fixed',
    inertia: str = 'check',
) -> Description:
    """Return the Description of a <mujoco> document."""
    if root_joint != 'fixed':
        raise DescriptionError(
            'an MJCF file itself declares which bodies are free',
            file=reader.label,
            repair='Add <freejoint/> to the body.',
        )
    compiled, left_out = compile_mjcf(reader, document), LeftOut()
    if compiled.model.nbody < 2:
        raise reader.error(document.root, 'it has no <body>', 'Add bodies to <worldbody>.')
    bodies, tendons = Bodies(compiled), Tendons(compiled)
    loops, couplings = read_equalities(compiled, tendons, left_out)
    couplings += tendons.tight()
    springs = bodies.springs + tendons.springs(couplings, left_out)
    motors, efforts = read_motors(compiled, tendons, bodies.joints, couplings, left_out)
    name = document.root.get('model', 'robot')
    gravity, relieved = _gravity(compiled, reader)
    links = tuple(
        replace(link, gravcomp=relieved[link.name]) if link.name in relieved else link
        for link in bodies.links
    )
    joints = tuple(with_efforts(bodies.joints, efforts))
    check_structure(Description(name, links, joints, tuple(loops)), reader)
    joints, settled, actuators = resolve(
        reader,
        document.root,
        joints,
        tuple(loops),
        argument=actuated,
        motors=tuple((joint, '<actuator>') for joint in motors),
    )
    _say_what_is_left_out(compiled, left_out)
    description = Description(
        name,
        links,
        joints,
        settled,
        couplings=tuple(couplings),
        springs=tuple(springs),
        actuators=actuators,
        assemblies=_assemblies(compiled, bodies),
        gravity=gravity,
        file=str(document.path or ''),
    )
    left_out.say(reader)
    check_references(description, reader)
    return settle_inertias(description, reader, inertia)


def _assemblies(compiled: Compiled, bodies: Bodies) -> tuple[Assembly, ...]:
    """Return MuJoCo's pose at the start and its keyframes."""
    model, names = compiled.model, Names(['qpos0'])
    if not model.njnt:
        return ()
    poses = [Assembly('qpos0', bodies.positions(model.qpos0))]
    for key in range(model.nkey):
        name = names.fresh(compiled.name('KEY', key) or f'key_{key}')
        poses.append(Assembly(name, bodies.positions(model.key_qpos[key])))
    return tuple(poses)


def _gravity(compiled: Compiled, reader: Reader) -> tuple[tuple[float, ...], dict[str, float]]:
    """
    Return the gravity of the file, and {link: share of its weight that is compensated}.

    Where every moving body is relieved of the same share, gravity is less by it instead.
    """
    model = compiled.model
    gravity = np.array(model.opt.gravity)
    relieved = {
        compiled.body_names[body]: float(model.body_gravcomp[body])
        for body in range(1, model.nbody)
        if model.body_weldid[body] != 0 and model.body_mass[body] > 0.0
    }
    shares = set(relieved.values()) or {0.0}
    if len(shares) == 1:
        (share,) = shares
        if share:
            reader.note(
                f'All moving bodies have {share:.0%} of their weight compensated (gravcomp); '
                'gravity is reduced by that share.'
            )
        gravity, relieved = gravity * (1.0 - share), {}
    return tuple(float(each) + 0.0 for each in gravity), relieved


def _say_what_is_left_out(compiled: Compiled, left_out: LeftOut) -> None:
    """Note what the file states and the description has no place for."""
    model = compiled.model
    for number, name in enumerate(compiled.joint_names):
        dof = int(model.jnt_dofadr[number])
        if not compiled.turns_or_slides(number):
            if (
                compiled.is_type(model.jnt_type[number], 'mjtJoint', 'FREE')
                and (model.dof_armature[dof])
            ):
                what = 'the armature of free joints is a weightless body of its own'
                left_out.change(what, name)
            if model.jnt_limited[number]:
                left_out.add('limits of ball joints', name)
        higher = (
            (model.jnt_stiffnesspoly[number], model.dof_dampingpoly[dof])
            if hasattr(model, 'dof_dampingpoly')
            else ()
        )
        if any(np.any(powers) for powers in higher):
            left_out.add('higher powers of damping and stiffness', name)
    if model.opt.density or model.opt.viscosity:
        left_out.add(
            f'forces of a fluid of {model.opt.density:g} kg/m^3 and {model.opt.viscosity:g} Pa s',
            '',
        )
    if np.any(model.geom_contype) and np.any(model.geom_conaffinity):
        left_out.add('contact between geoms', '', 'a <constraint> with <cc:contact> declares it')
    if np.any(model.body_mocapid >= 0):
        left_out.add('motion of mocap bodies', '', 'they stand where the file puts them')
    if model.nflex:
        left_out.add('flexes (soft bodies)', '', 'their points move without springs between them')
    for kind, limits in (('JOINT', 'jnt_springyield'), ('TENDON', 'tendon_springyield')):
        for each in np.flatnonzero(getattr(model, limits, ())):  # since MuJoCo 4
            left_out.add('yielding of springs', compiled.name(kind, int(each)))
    if model.nplugin:
        left_out.add('plugins', '')
