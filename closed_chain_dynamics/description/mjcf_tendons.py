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

"""Tendons of a compiled MJCF model: couplings where tight, springs where they pull."""

from dataclasses import replace

import numpy as np

from closed_chain_dynamics.description.elements import (
    Coupling,
    CouplingTerm,
    Pose,
    Spring,
    Waypoint,
)
from closed_chain_dynamics.description.left_out import LeftOut
from closed_chain_dynamics.description.mjcf_compile import Compiled
from closed_chain_dynamics.description.rotations import pose_of, rotation

__all__ = ['Affine', 'Tendons', 'follow']

TIGHT = 1e-6  # width of a range that leaves no play [m or rad]; MuJoCo takes none of zero
POWERS = ('tendon_stiffnesspoly', 'tendon_dampingpoly')  # since MuJoCo 4
Affine = tuple[str, float, float]  # a joint, its factor, and a constant


class Tendons:
    """Tendons by number: what each is a sum of."""

    def __init__(self, compiled: Compiled) -> None:
        self.compiled, self.model = compiled, compiled.model

    def name(self, number: int) -> str:
        """Return what a tendon is called."""
        return self.compiled.name('TENDON', number) or f'tendon_{number}'

    def _path(self, number: int) -> list[int]:
        start = int(self.model.tendon_adr[number])
        return list(range(start, start + int(self.model.tendon_num[number])))

    def linear(self, number: int) -> dict[str, float] | None:
        """Return {joint: coefficient} of a fixed tendon, None of a spatial one."""
        sums: dict[str, float] = {}
        for at in self._path(number):
            if not self.compiled.is_type(self.model.wrap_type[at], 'mjtWrap', 'JOINT'):
                return None
            joint = self.compiled.joint_names[int(self.model.wrap_objid[at])]
            sums[joint] = sums.get(joint, 0.0) + float(self.model.wrap_prm[at])
        return sums

    def tight(self) -> list[Coupling]:
        """Return fixed tendons whose range leaves no play as couplings."""
        found = []
        for number in range(self.model.ntendon):
            lower, upper = map(float, self.model.tendon_range[number])
            sums = self.linear(number)
            if sums and self.model.tendon_limited[number] and upper - lower <= TIGHT:
                terms = tuple(CouplingTerm(joint, (value,)) for joint, value in sums.items())
                name = self.compiled.joints.fresh(self.name(number))
                found.append(Coupling(name, terms, constant=-0.5 * (lower + upper)))
        return found

    def springs(self, couplings: list[Coupling], left_out: LeftOut) -> list[Spring]:
        """Return springs, dampers and armatures of tendons, and tell what none stands for."""
        model, found, driven = self.model, [], self.compiled.reflected('TENDON')
        for number in range(model.ntendon):
            name = self.name(number)
            friction = float(model.tendon_frictionloss[number])
            if friction:
                left_out.add('friction along tendons', name, f'{friction:g} N each')
            lower, upper = map(float, model.tendon_range[number])
            if model.tendon_limited[number] and upper - lower > TIGHT:
                left_out.add('limits of tendon lengths', name)
            if any(np.any(getattr(model, each)[number]) for each in POWERS if each in dir(model)):
                left_out.add('higher powers of damping and stiffness', name)
            armature, damping = driven.get(number, (0.0, 0.0))
            if hasattr(model, 'tendon_armature'):
                armature += float(model.tendon_armature[number])
            law = Spring(
                name,
                '',
                float(model.tendon_stiffness[number]),
                float(model.tendon_damping[number]) + damping,
                armature=armature,
            )
            if law.stiffness or law.damping or armature:
                shortest, longest = map(float, model.tendon_lengthspring[number])
                slack = longest - shortest if law.stiffness else 0.0
                law = replace(law, rest=shortest, slack=slack if slack > TIGHT else 0.0)
                found += self._spring(number, law, couplings)
        return found

    def _spring(self, number: int, law: Spring, couplings: list[Coupling]) -> list[Spring]:
        """Return the simplest spring with the law of a tendon; none where nothing moves it."""
        sums, plain = self.linear(number), not law.slack and not law.armature
        if sums is None:
            path = self._waypoints(number)
            if len({point.link for point in path}) == 1:
                return []
            if plain and len(path) == 2:
                return [
                    replace(
                        law,
                        type='linear',
                        from_link=path[0].link,
                        from_xyz=path[0].origin.xyz,
                        to_link=path[1].link,
                        to_xyz=path[1].origin.xyz,
                    )
                ]
            return [replace(law, type='path', path=path)]
        lead = follow(sums, couplings) if plain else None
        if lead is None:
            terms = tuple(CouplingTerm(each, (value,)) for each, value in sums.items())
            return [replace(law, type='tendon', terms=terms)]
        joint, factor, constant = lead  # its length is factor q + constant
        if not factor:
            return []
        square, rest = factor**2, (law.rest - constant) / factor
        stiffness, damping = law.stiffness * square, law.damping * square
        return [Spring(law.name, 'torsional', stiffness, damping, rest, joint=joint)]

    def _waypoints(self, number: int) -> tuple[Waypoint, ...]:
        """Return where a spatial tendon leads."""
        model, found, begins, divisor = self.model, list[Waypoint](), False, 1.0
        shapes = {'SPHERE': 'sphere', 'CYLINDER': 'cylinder'}
        for at in self._path(number):
            kind, place = model.wrap_type[at], int(model.wrap_objid[at])
            if self.compiled.is_type(kind, 'mjtWrap', 'PULLEY'):
                begins, divisor = True, float(model.wrap_prm[at])
                continue
            if self.compiled.is_type(kind, 'mjtWrap', 'SITE'):
                link, xyz = self._site(place)
                point = Waypoint(link, Pose(xyz), begins=begins and bool(found), divisor=divisor)
            else:
                link = self.compiled.body_names[int(model.geom_bodyid[place])]
                side = round(float(model.wrap_prm[at]))
                point = Waypoint(
                    link,
                    pose_of(rotation(model.geom_quat[place]), model.geom_pos[place]),
                    next(
                        shape
                        for name, shape in shapes.items()
                        if self.compiled.is_type(kind, 'mjtWrap', name)
                    ),
                    float(model.geom_size[place][0]),
                    self._site(side) if side >= 0 else None,
                    divisor=divisor,
                )
            found.append(point)
            begins = False
        return tuple(found)

    def _site(self, site: int) -> tuple[str, tuple[float, ...]]:
        body = int(self.model.site_bodyid[site])
        return self.compiled.body_names[body], tuple(map(float, self.model.site_pos[site]))


def follow(sums: dict[str, float], couplings: list[Coupling]) -> Affine | None:
    """Return the sum as factor q + constant of its first joint, None where others move freely."""
    first = next(iter(sums))
    known: dict[str, tuple[float, float]] = {first: (1.0, 0.0)}  # q = factor q_first + constant
    pairs = [each for each in couplings if each.active and _is_pair(each)]
    grown = True
    while grown:
        grown = False
        for coupling in pairs:
            a, b = coupling.terms
            for one, other in ((a, b), (b, a)):
                if one.joint in known and other.joint not in known:
                    known[other.joint] = _other(one, other, coupling.constant, known[one.joint])
                    grown = True
    if any(joint not in known for joint in sums):
        return None
    factor = sum(value * known[joint][0] for joint, value in sums.items())
    return first, factor, sum(value * known[joint][1] for joint, value in sums.items())


def _is_pair(coupling: Coupling) -> bool:
    return len(coupling.terms) == 2 and all(len(term.coefficients) == 1 for term in coupling.terms)


def _other(
    one: CouplingTerm, other: CouplingTerm, constant: float, known: tuple[float, float]
) -> tuple[float, float]:
    """Return q_other from c_one q_one + c_other q_other + constant = 0."""
    c_one, c_other = one.coefficients[0], other.coefficients[0]
    return -c_one / c_other * known[0], -(c_one * known[1] + constant) / c_other
