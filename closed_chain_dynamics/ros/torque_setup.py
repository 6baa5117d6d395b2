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

"""What the parameters of torque_node stand for: the law, its bounds, and what measures."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics.arrays import Vector
from closed_chain_dynamics.control.base_state import BaseState
from closed_chain_dynamics.control.control_loop import ControlLoop
from closed_chain_dynamics.control.feel import Feel
from closed_chain_dynamics.control.generated_law import GeneratedLaw
from closed_chain_dynamics.control.joint_limits import JointLimits
from closed_chain_dynamics.control.law import TorqueController
from closed_chain_dynamics.control.rehearsed_turns import warm_up
from closed_chain_dynamics.control.safety_state import SafetyState
from closed_chain_dynamics.control.sensed import Sensors
from closed_chain_dynamics.control.torque_guard import TorqueGuard
from closed_chain_dynamics.description.assignments import assignments
from closed_chain_dynamics.errors import ClosedChainError, NameNotFound
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.ros.messages.base_topics import SOURCES
from closed_chain_dynamics.ros.parameters import Parameters

__all__ = ['Prepared', 'apply', 'law', 'prepare', 'required_joints', 'sensors']


class Prepared(NamedTuple):
    """What takes turns with a model."""

    loop: ControlLoop
    base: BaseState | None  # what joins the base to joint states
    order: NDArray[np.intp]  # of the actuators in commands


def prepare(
    p: Parameters,
    robot: Mechanism,
    on_refusal: Callable[[str, str], object],
    on_change: Callable[[SafetyState], object],
) -> Prepared:
    """Return what takes turns with a model, with its kernels loaded, or raise."""
    names = robot.actuator_names
    generated = GeneratedLaw(robot) if p.compiled else None
    controller, guard, limits = law(p, robot, generated)
    sensors(p, robot)
    if generated is not None:
        generated.prepare()
    loop = ControlLoop(
        controller, guard, limits=limits, on_refusal=on_refusal, on_change=on_change
    )
    order = p.command_order or names
    for name in order:
        if name not in names:
            raise NameNotFound('actuator', name, names, where="parameter 'command_order'")
    base = _base(p, loop)
    warm_up(loop)
    return Prepared(loop, base, np.array([names.index(name) for name in order]))


def apply(p: Parameters, loop: ControlLoop) -> None:
    """Let a loop be as the parameters say, but for its law."""
    loop.set_timeouts(p.state_timeout, p.reference_timeout)
    loop.fallback, loop.damping = p.fallback, p.damping
    loop.reference.clip = p.beyond_limits == 'clip'
    loop.watcher.tracking_bound = p.tracking_bound
    loop.tracker.stamps.other_clock = p.other_clock
    heard, loop.sensors = loop.sensors, sensors(p, loop.robot)
    loop.sensors.resume(heard)
    loop.blend.duration = p.blend


def law(
    p: Parameters, robot: Mechanism, generated: GeneratedLaw | None
) -> tuple[TorqueController, TorqueGuard, JointLimits]:
    """Return the law and what bounds it as the parameters say, or raise."""
    gains: dict[str, Any] = assignments(p.joint_gains, "parameter 'joint_gains'")
    bad = [name for name, pair in gains.items() if np.shape(pair) != (2,)]
    if bad:
        raise ClosedChainError(
            f'{bad[0]!r} needs two gains',
            where="parameter 'joint_gains'",
            repair='Write joint=kp,kd.',
        )
    kp, kd = (
        {'default': default, **{name: pair[k] for name, pair in gains.items()}}
        for k, default in enumerate((p.kp, p.kd))
    )
    chosen: list[Any] = [  # the controller tells what is no number
        assignments(getattr(p, name), f'parameter {name!r}') or None
        for name in ('weights', 'preload')
    ]
    weights, preload = chosen
    if not p.rate * p.state_timeout > 1.0:
        raise ClosedChainError(
            f'{p.rate:g} Hz is too slow for a state_timeout of {p.state_timeout:g} s: torques '
            'would fall back between two control cycles',
            where="parameter 'rate'",
            repair='Give a higher rate, or a longer state_timeout.',
        )
    for name in p.measured:
        robot.joint_slices(name)  # an unknown name is told
    controller = TorqueController(
        robot,
        mode=p.mode,
        kp=kp,
        kd=kd,
        policy=p.policy,
        weights=weights,
        preload=preload,
        singularity=p.singularity,
        singular_distance=p.singular_distance,
        weak_lever=p.weak_lever,
        feel=_feel(p),
        generated=generated,
    )
    guard = TorqueGuard(
        robot,
        effort_share=p.effort_share,
        rate_limit=p.rate_limit,
        default_effort=p.default_effort,
        power_limit=p.power_limit or np.inf,
    )
    _refuse_preload(preload or {}, guard)
    limits = JointLimits(robot, soft_zone=p.soft_zone, default_speed=p.default_speed)
    return controller, guard, limits


def _feel(p: Parameters) -> Feel:
    """Return how the device feels to its user, or raise."""
    impedance: dict[str, Any] = assignments(p.impedance, "parameter 'impedance'")
    return Feel(
        impedance,
        space=p.impedance_space,
        friction_share=p.friction_share,
        friction_speed=p.friction_speed,
        inertia_share=p.inertia_share,
        assist_share=p.assist_share,
    )


def sensors(p: Parameters, robot: Mechanism) -> Sensors:
    """Return what takes measurements beside the joints, or raise."""
    return Sensors(
        robot,
        links=p.wrench_links,
        wrench_timeout=p.wrench_timeout,
        human_timeout=p.human_timeout,
        cutoff=p.acceleration_cutoff,
    )


def _base(p: Parameters, loop: ControlLoop) -> BaseState | None:
    """Return what joins the base to joint states, None where they have it; or raise."""
    if p.base_source == SOURCES[0]:
        return None

    def known() -> tuple[Vector, Vector, float] | None:
        state = loop.state
        return None if state is None or state.q is None else (state.q, state.v, state.time)

    return BaseState(loop.robot, joint=p.base_joint, timeout=p.base_timeout, known=known)


def _refuse_preload(preload: dict[str, float], guard: TorqueGuard) -> None:
    """Raise where a preload alone is beyond the effort of its actuator."""
    for name, most in zip(guard.robot.actuator_names, guard.effort):
        if abs(preload.get(name, 0.0)) > most:
            raise ClosedChainError(
                f'{name!r} has an effort limit of {most:g}, and {preload[name]:g} is beyond it',
                where="parameter 'preload'",
                repair='Give a torque within the limit, times effort_share.',
            )


def required_joints(p: Parameters, robot: Mechanism) -> list[str]:
    """Return the joints that every state must have: those named, else the actuated ones."""
    if p.measured:
        return list(p.measured)
    actuated = {name.partition(':')[0] for name in robot.actuator_names}
    return [name for name in robot.joint_names if name in actuated]
