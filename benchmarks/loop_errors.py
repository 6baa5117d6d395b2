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
How far the loop of a four-bar opens within ten seconds, here and in other engines.

Every engine integrates the same frictionless four-bar from the same state with RK4 at the same
step. Its crank starts at 30 rad/s and turns freely. It is M1 of `models` with a longer coupler,
because M1 folds flat, where two motions meet and no engine knows which one goes on. Pinocchio
computes accelerations and leaves the rest to its users, so it is shown with nothing done about
the drift, with Baumgarte's correction, and with a projection as a user would write it. Drake has
constraints in discrete time only, so its plant takes its own steps of the same length. An engine
that is not installed is left out.

    python benchmarks/loop_errors.py [--seconds 10] [--step 1e-3]
"""

import argparse
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
import sys
from tempfile import TemporaryDirectory

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # started as a file

from benchmarks.models import case as the_case
from benchmarks.peers import MuJoCo, Pinocchio
import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import Pose, convert
from closed_chain_dynamics.model.mechanism import Mechanism

COUPLER = 0.30  # its length [m]: with 0.15, 0.30 and 0.18 the crank can turn all the way round
SPEED = 30.0  # of the crank at the start [rad/s]


def turning_four_bar():
    """Return a four-bar whose crank turns all the way round, and a state in motion."""
    m1 = the_case('M1')
    (loop,) = m1.robot.description.loops
    loop = replace(loop, parent_origin=Pose((COUPLER, 0.0, 0.0)))
    robot = Mechanism(replace(m1.robot.description, loops=(loop,)))
    q = ccd.assemble(robot, {'crank_01': 0.4}, start=m1.q)
    return replace(m1, robot=robot, q=q, v=ccd.complete_velocity(robot, q, {'crank_01': SPEED}))


def largest_gap(robot, poses):
    """Return the largest gap of the closed loops over poses [m]."""
    return max(gap for q in poses for gap, _ in robot.loop_gaps(q).values())


def here(case, seconds, step):
    sim = ccd.Simulation(case.robot, q=case.q, v=case.v, dt=step, log_every=10)
    sim.run(seconds)
    return largest_gap(case.robot, sim.log.q)


def project(peer, q, v):
    """Close the loops of Pinocchio's model by Newton steps, and the gap of velocities: NumPy."""
    pin, model, data = peer.pin, peer.model, peer.data
    for _ in range(3):
        pin.computeJointJacobians(model, data, q)
        J, gap = [], []
        for each in peer.constraints:
            parts, points = [], []
            for joint, place in (
                (each.joint1_id, each.joint1_placement),
                (each.joint2_id, each.joint2_placement),
            ):
                arm = data.oMi[joint].rotation @ place.translation
                columns = pin.getJointJacobian(model, data, joint, pin.LOCAL_WORLD_ALIGNED)
                parts.append(columns[:3] - pin.skew(arm) @ columns[3:])
                points.append(data.oMi[joint].translation + arm)
            J.append(parts[0] - parts[1])
            gap.append(points[0] - points[1])
        J, gap = np.vstack(J), np.concatenate(gap)
        q = q - np.linalg.lstsq(J, gap, rcond=1e-10)[0]
    return q, v - np.linalg.lstsq(J, J @ v, rcond=1e-10)[0]


def in_pinocchio(case, seconds, step, correction=0.0, projected=False):
    """RK4 of `constraintDynamics`; `correction`: Baumgarte's gain [1/s^2], 0 for none."""
    peer = Pinocchio(case)
    pin, model, data = peer.pin, peer.model, peer.data
    for each in peer.constraints:
        gains = each.m_baumgarte_parameters
        gains.Kp, gains.Kd = correction, 2.0 * np.sqrt(correction)
    settings = pin.ProximalSettings(1e-12, 1e-10, 50)
    rest = np.zeros(model.nv)

    def rate(q, v):
        return pin.constraintDynamics(
            model, data, q, v, rest, peer.constraints, peer.constraint_data, settings
        ).copy()

    q, v, poses = case.q.copy(), case.v.copy(), []
    for k in range(round(seconds / step)):
        a1 = rate(q, v)
        v2 = v + step / 2 * a1
        a2 = rate(q + step / 2 * v, v2)
        v3 = v + step / 2 * a2
        a3 = rate(q + step / 2 * v2, v3)
        v4 = v + step * a3
        a4 = rate(q + step * v3, v4)
        q = q + step / 6 * (v + 2 * v2 + 2 * v3 + v4)
        v = v + step / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
        if projected:
            q, v = project(peer, q, v)
        if k % 10 == 0:
            poses.append(q)
    return largest_gap(case.robot, poses)


def in_mujoco(case, seconds, step, stiff):
    peer = MuJoCo(case)
    mujoco, model = peer.mujoco, peer.model
    model.opt.timestep, model.opt.integrator = step, mujoco.mjtIntegrator.mjINT_RK4
    model.eq_solref[:] = [2.0 * step if stiff else 0.02, 1.0]
    model.eq_solimp[:] = [0.9999, 0.9999, 1e-3, 0.5, 2.0] if stiff else [0.9, 0.95, 1e-3, 0.5, 2.0]
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = case.q, case.v
    poses = []
    for k in range(round(seconds / step)):
        mujoco.mj_step(model, data)
        if k % 10 == 0:
            poses.append(data.qpos.copy())
    return largest_gap(case.robot, poses)


def in_drake(case, seconds, step):
    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import MultibodyPlant
    from pydrake.systems.analysis import Simulator

    plant = MultibodyPlant(time_step=step)
    with TemporaryDirectory() as folder:
        file = Path(folder) / 'model.urdf'
        convert(case.robot.description, file, to='drake', gravity=case.robot.gravity)
        Parser(plant).AddModels(str(file))
    plant.mutable_gravity_field().set_gravity_vector(case.robot.gravity)
    plant.Finalize()
    places = [plant.GetJointByName(name).velocity_start() for name in case.robot.joint_names]
    simulator = Simulator(plant)
    context = simulator.get_mutable_context()
    plant.SetPositions(context, case.q[np.argsort(places)])
    plant.SetVelocities(context, case.v[np.argsort(places)])
    poses = []
    for k in range(round(seconds / step / 10)):
        simulator.AdvanceTo(10 * (k + 1) * step)
        poses.append(plant.GetPositions(context)[places])
    return largest_gap(case.robot, poses)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument('--seconds', type=float, default=10.0)
    parser.add_argument('--step', type=float, default=1e-3)
    args = parser.parse_args()
    case, given = turning_four_bar(), (args.seconds, args.step)
    rows = {'here, RK4 and projection': here(case, *given)}
    if find_spec('pinocchio'):
        rows['Pinocchio, RK4, no correction'] = in_pinocchio(case, *given)
        rows["Pinocchio, RK4, Baumgarte's correction"] = in_pinocchio(case, *given, 1e4)
        rows['Pinocchio, RK4, own projection in NumPy'] = in_pinocchio(
            case, *given, projected=True
        )
    if find_spec('mujoco'):
        rows['MuJoCo, RK4, default softness'] = in_mujoco(case, *given, stiff=False)
        rows['MuJoCo, RK4, stiff'] = in_mujoco(case, *given, stiff=True)
    if find_spec('pydrake'):
        rows['Drake, discrete time'] = in_drake(case, *given)
    for name, gap in rows.items():
        print(f'{name:40s} {gap:8.1e} m')


if __name__ == '__main__':
    main()
