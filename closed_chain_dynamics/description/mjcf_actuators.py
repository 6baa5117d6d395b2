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

"""Actuators of a compiled MJCF model: which joints have motors, and what they can give."""

from dataclasses import replace
import math

import numpy as np

from closed_chain_dynamics.description.elements import Coupling, Joint, JointType
from closed_chain_dynamics.description.left_out import LeftOut
from closed_chain_dynamics.description.mjcf_compile import Compiled
from closed_chain_dynamics.description.mjcf_tendons import Tendons, follow

__all__ = ['read_motors', 'with_efforts']

LOPSIDED = 1e-9  # relative difference of the two ends of a force range that is told
SEVERAL_VELOCITIES = (JointType.SPHERICAL, JointType.FLOATING)


def read_motors(
    compiled: Compiled,
    tendons: Tendons,
    joints: list[Joint],
    couplings: list[Coupling],
    left_out: LeftOut,
) -> tuple[list[str], dict[str, float]]:
    """Return joints with motors, and {joint: effort}; what acts on no single joint is told."""
    model, mujoco = compiled.model, compiled.mujoco
    kinds = {joint.name: joint.type for joint in joints}
    efforts: dict[str, float] = {}
    all_off = int(model.opt.disableflags) & mujoco.mjtDisableBit.mjDSBL_ACTUATION
    spans: dict[str, list[np.ndarray]] = {}  # of motors on joints with several coordinates
    for number in range(model.nu):
        name = compiled.name('ACTUATOR', number) or f'actuator {number}'
        if all_off or int(model.opt.disableactuator) >> int(model.actuator_group[number]) & 1:
            left_out.add('actuators that the file switches off', name)
            continue
        if model.actuator_gaintype[number] == mujoco.mjtGain.mjGAIN_MUSCLE:
            left_out.add('muscles', name)
            continue
        target = _target(compiled, tendons, couplings, number)
        if target is None:
            left_out.add('actuators that act on no single joint', name)
            continue
        joint, gear = target
        effort = _force(compiled, number) * abs(gear)
        if kinds[joint] in SEVERAL_VELOCITIES:
            # turning one coordinate of several: a motor on the joint only where all are reached
            spans.setdefault(joint, []).append(np.array(model.actuator_gear[number]))
            size = kinds[joint].nv
            if np.linalg.matrix_rank(np.array(spans[joint])[:, :size]) < size:
                continue
            effort = math.inf
        elif not gear:
            left_out.add('actuators whose gear is zero', name)
            continue
        if model.actuator_biastype[number] != mujoco.mjtBias.mjBIAS_NONE:
            left_out.add('laws of servos, whose joints are actuated', name)
        efforts[joint] = efforts.get(joint, 0.0) + effort
    for joint in spans:
        if joint not in efforts:
            left_out.add('motors on some of the coordinates of a joint', joint)
    return list(efforts), _within_joint_ranges(compiled, efforts, left_out)


def _target(
    compiled: Compiled, tendons: Tendons, couplings: list[Coupling], number: int
) -> tuple[str, float] | None:
    """Return the joint that an actuator moves and its gear, or None."""
    model = compiled.model
    kind, at = model.actuator_trntype[number], int(model.actuator_trnid[number, 0])
    gear = float(model.actuator_gear[number, 0])
    if any(compiled.is_type(kind, 'mjtTrn', each) for each in ('JOINT', 'JOINTINPARENT')):
        return compiled.joint_names[at], gear
    if compiled.is_type(kind, 'mjtTrn', 'TENDON'):
        sums = tendons.linear(at)
        lead = follow(sums, couplings) if sums else None
        if lead is not None and lead[1]:
            return lead[0], gear * lead[1]
    return None


def _force(compiled: Compiled, number: int) -> float:
    """Return the largest force that an actuator gives before its gear [N or N m]."""
    model, mujoco = compiled.model, compiled.mujoco
    if model.actuator_forcelimited[number]:
        return float(np.abs(model.actuator_forcerange[number]).max())
    plain = (
        model.actuator_gaintype[number] == mujoco.mjtGain.mjGAIN_FIXED
        and model.actuator_biastype[number] == mujoco.mjtBias.mjBIAS_NONE
        and model.actuator_dyntype[number] == mujoco.mjtDyn.mjDYN_NONE
    )
    if plain and model.actuator_ctrllimited[number]:
        largest = float(np.abs(model.actuator_ctrlrange[number]).max())
        return largest * abs(float(model.actuator_gainprm[number, 0]))
    return math.inf


def _within_joint_ranges(
    compiled: Compiled, efforts: dict[str, float], left_out: LeftOut
) -> dict[str, float]:
    """Return the efforts, none above the actuatorfrcrange of its joint."""
    model, result = compiled.model, dict(efforts)
    for number, name in enumerate(compiled.joint_names):
        if not model.jnt_actfrclimited[number]:
            continue
        lower, upper = map(float, model.jnt_actfrcrange[number])
        if abs(lower + upper) > LOPSIDED * (upper - lower):
            left_out.add('the smaller side of lopsided force ranges', name)
        result[name] = min(result.get(name, math.inf), max(abs(lower), abs(upper)))
    return result


def with_efforts(joints: list[Joint], efforts: dict[str, float]) -> list[Joint]:
    """Return the joints with what their motors can give."""
    return [
        replace(joint, limit=replace(joint.limit, effort=efforts[joint.name]))
        if joint.name in efforts
        else joint
        for joint in joints
    ]
