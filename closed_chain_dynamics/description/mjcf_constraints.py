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

"""Equality constraints of a compiled MJCF model: connect and weld as loops, joint as coupling."""

from typing import Any

import numpy as np

from closed_chain_dynamics.description.elements import (
    Coupling,
    CouplingTerm,
    LoopJoint,
    LoopType,
    Pose,
)
from closed_chain_dynamics.description.left_out import LeftOut
from closed_chain_dynamics.description.mjcf_compile import Compiled
from closed_chain_dynamics.description.mjcf_tendons import Tendons
from closed_chain_dynamics.description.rotations import pose_of, rotation

__all__ = ['read_equalities']

TORQUE_SCALE = 10  # where eq_data says how much the rotation of a weld counts


def read_equalities(
    compiled: Compiled, tendons: Tendons, left_out: LeftOut
) -> tuple[list[LoopJoint], list[Coupling]]:
    """Return loops and couplings; MuJoCo's are soft, these hold exactly."""
    loops, couplings = [], []
    model = compiled.model
    for number in range(model.neq):
        kind, name = model.eq_type[number], compiled.name('EQUALITY', number)
        if compiled.is_type(kind, 'mjtEq', 'CONNECT') or compiled.is_type(kind, 'mjtEq', 'WELD'):
            loops.append(_loop(compiled, number, name))
        elif compiled.is_type(kind, 'mjtEq', 'JOINT'):
            couplings.append(_joint_coupling(compiled, number, name))
        elif compiled.is_type(kind, 'mjtEq', 'TENDON'):
            coupling = _tendon_coupling(compiled, tendons, number, name)
            if coupling is None:
                left_out.add('equality of tendons that are no sums of joints', name or 'unnamed')
            else:
                couplings.append(coupling)
        else:
            left_out.add('equality of flexes', name or 'unnamed')
    return loops, couplings


def _loop(compiled: Compiled, number: int, given: str) -> LoopJoint:
    model = compiled.model
    first, second = int(model.eq_obj1id[number]), int(model.eq_obj2id[number])
    data, weld = model.eq_data[number], compiled.is_type(model.eq_type[number], 'mjtEq', 'WELD')
    welds = weld and bool(data[TORQUE_SCALE])  # a weld without torque holds the point alone
    if int(model.eq_objtype[number]) == int(compiled.mujoco.mjtObj.mjOBJ_SITE):
        sites = first, second
        poses = [pose_of(rotation(model.site_quat[site]), model.site_pos[site]) for site in sites]
        first, second = (int(model.site_bodyid[site]) for site in sites)
    elif weld:
        # the model holds the point of the second body, then that of the first, then the rotation
        # from the first to the second
        poses = [pose_of(rotation(data[6:10]), data[3:6]), _point(data[:3])]
    else:
        poses = [_point(data[:3]), _point(data[3:6])]
    parent, child = compiled.body_names[first], compiled.body_names[second]
    return LoopJoint(
        compiled.joints.fresh(given or f'{parent}_{child}'),
        LoopType.FIXED if welds else LoopType.SPHERICAL,
        parent,
        child,
        poses[0],
        poses[1],
        active=bool(model.eq_active0[number]),
    )


def _point(xyz: Any) -> Pose:
    return Pose(tuple(float(each) + 0.0 for each in xyz))


def _joint_coupling(compiled: Compiled, number: int, given: str) -> Coupling:
    """Return q1 - ref1 = the sum of c_k (q2 - ref2)^k."""
    model = compiled.model
    first, second = int(model.eq_obj1id[number]), int(model.eq_obj2id[number])
    start = [model.qpos0[model.jnt_qposadr[joint]] for joint in (first, second)]
    name = compiled.joint_names[first]
    terms, constant = [CouplingTerm(name, (1.0,))], -start[0] - model.eq_data[number, 0]
    if second >= 0:
        powers, shift = _shifted(model.eq_data[number, 1:5], start[1])
        constant -= shift
        if powers:
            terms.append(
                CouplingTerm(compiled.joint_names[second], tuple(-each for each in powers))
            )
    return Coupling(
        compiled.joints.fresh(given or f'{name}_equality'),
        tuple(terms),
        constant=float(constant) + 0.0,
        active=bool(model.eq_active0[number]),
    )


def _shifted(coefficients: Any, start: float) -> tuple[tuple[float, ...], float]:
    """Return powers 1 to 4 and the constant of c_1 (x - start) + c_2 (x - start)^2 + ..."""
    polynomial = np.polynomial.Polynomial([0.0, *coefficients])
    shifted = polynomial(np.polynomial.Polynomial([-float(start), 1.0])).coef
    powers = np.trim_zeros(shifted[1:], 'b')
    return tuple(float(each) for each in powers), float(shifted[0])


def _tendon_coupling(
    compiled: Compiled, tendons: Tendons, number: int, given: str
) -> Coupling | None:
    """Return L1 - L1_0 = the sum of c_k (L2 - L2_0)^k, or None where it cannot be written."""
    model = compiled.model
    first, second = int(model.eq_obj1id[number]), int(model.eq_obj2id[number])
    sums, constant = tendons.linear(first), -model.eq_data[number, 0]
    if sums is None:
        return None
    constant -= model.tendon_length0[first]
    terms: dict[str, np.ndarray] = {
        joint: np.array([factor, 0.0, 0.0, 0.0]) for joint, factor in sums.items()
    }
    if second >= 0:
        others = tendons.linear(second)
        powers, shift = _shifted(model.eq_data[number, 1:5], model.tendon_length0[second])
        constant -= shift
        if others is None or (len(others) > 1 and len(powers) > 1):
            return None
        for joint, factor in others.items():
            own = terms.setdefault(joint, np.zeros(4))
            for power, coefficient in enumerate(powers, start=1):
                own[power - 1] -= coefficient * factor**power
    return Coupling(
        compiled.joints.fresh(given or f'{compiled.name("TENDON", first)}_equality'),
        tuple(
            CouplingTerm(joint, tuple(float(each) for each in np.trim_zeros(powers, 'b')))
            for joint, powers in terms.items()
            if powers.any()
        ),
        constant=float(constant) + 0.0,
        active=bool(model.eq_active0[number]),
    )
