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

"""Tendons of a compiled MJCF model: couplings where tight, springs where one law says the same."""

from closed_chain_dynamics.description.elements import Coupling, CouplingTerm, Spring
from closed_chain_dynamics.description.left_out import LeftOut
from closed_chain_dynamics.description.mjcf_compile import Compiled

__all__ = ['Affine', 'Tendons', 'follow']

TIGHT = 1e-6  # width of a range that leaves no play [m or rad]; MuJoCo takes none of zero
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

    def ends(self, number: int) -> list[int] | None:
        """Return the two sites of a straight spatial tendon, None of any other."""
        path = self._path(number)
        if len(path) != 2 or not all(
            self.compiled.is_type(self.model.wrap_type[at], 'mjtWrap', 'SITE') for at in path
        ):
            return None
        return [int(self.model.wrap_objid[at]) for at in path]

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
        """Return springs and dampers of tendons, and tell what no spring stands for."""
        found = []
        for number in range(self.model.ntendon):
            name = self.name(number)
            stiffness = float(self.model.tendon_stiffness[number])
            damping = float(self.model.tendon_damping[number])
            shortest, longest = map(float, self.model.tendon_lengthspring[number])
            friction = float(self.model.tendon_frictionloss[number])
            if friction:
                left_out.add('friction along tendons', name, f'{friction:g} N each')
            armature = getattr(self.model, 'tendon_armature', [0.0] * (number + 1))[number]
            if armature:
                left_out.add('armature of tendons', name, f'{armature:g} kg each')
            lower, upper = map(float, self.model.tendon_range[number])
            if self.model.tendon_limited[number] and upper - lower > TIGHT:
                left_out.add('limits of tendon lengths', name)
            if not stiffness and not damping:
                continue
            spring = None
            if not stiffness or longest - shortest <= TIGHT:  # no slack
                spring = self._spring(number, stiffness, damping, shortest, couplings)
            if spring is None:
                left_out.add('springs and dampers along tendons', name, f'{stiffness:g} N/m each')
            else:
                found.append(spring)
        return found

    def _spring(
        self, number: int, stiffness: float, damping: float, rest: float, couplings: list[Coupling]
    ) -> Spring | None:
        name, ends, sums = self.name(number), self.ends(number), self.linear(number)
        if ends is not None:
            (link_1, xyz_1), (link_2, xyz_2) = map(self._site, ends)
            if link_1 == link_2:
                return None
            return Spring(
                name,
                'linear',
                stiffness,
                damping,
                rest,
                from_link=link_1,
                from_xyz=xyz_1,
                to_link=link_2,
                to_xyz=xyz_2,
            )
        lead = follow(sums, couplings) if sums else None
        if sums and lead is None:
            terms = tuple(CouplingTerm(each, (value,)) for each, value in sums.items())
            return Spring(name, 'tendon', stiffness, damping, rest, terms=terms)
        if lead is None or not lead[1]:
            return None
        joint, factor, constant = lead  # its length is factor q + constant
        return Spring(
            name,
            'torsional',
            stiffness * factor**2,
            damping * factor**2,
            (rest - constant) / factor,
            joint=joint,
        )

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
