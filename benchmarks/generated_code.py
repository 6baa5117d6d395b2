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
Generated code beside Pinocchio and MuJoCo: single calls from Python, and batches of states.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.generated_code [--derivatives] [M2 M3 M4_64]
    OPENBLAS_NUM_THREADS=1 python -m benchmarks.generated_code --steps four_bar swing

Calls take turns; a ratio is the median over the turns of the ratio within one turn. Agreement
stands beside every figure: the largest relative difference from the core, and for forward
dynamics the loops' equation J_C a + J_C' v. A batch is 4096 states on one thread, measured in
processor time; MuJoCo's is its
`rollout` module over one Euler step, which is `mj_forward` in a C loop and an addition, each state
warm-started at its own solution.
"""

import argparse
from time import process_time

import numpy as np

from benchmarks.agreement import best_forward
from benchmarks.models import case
from benchmarks.peers import MuJoCo, Pinocchio
from benchmarks.timing import interleave
import closed_chain_dynamics as ccd
from closed_chain_dynamics.codegen.compiled import CompiledMechanism
from closed_chain_dynamics.codegen.gathering import gather

BATCH, TURNS, STEPS = 4096, 9, 300


def relative(actual, expected):
    return np.abs(actual - expected).max() / np.abs(expected).max()


def interleave_cpu(calls, turns):
    """Return microseconds of processor time per call: a long call meets whatever else runs."""
    times = {name: [] for name in calls}
    for turn in range(turns + 1):
        for name, (function, arguments) in calls.items():
            start = process_time()
            function(*arguments)
            if turn:  # the first compiles
                times[name].append(1e6 * (process_time() - start))
    return {name: np.array(values) for name, values in times.items()}


def batch_of_mujoco(peer):
    """Return a call of MuJoCo's rollout over BATCH states like that of the case."""
    from mujoco import rollout

    mujoco, model, data = peer.mujoco, peer.model, peer.data
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
    peer.set_state(peer.case.v)
    mujoco.mj_forward(model, data)
    size = mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    state = np.empty(size)
    mujoco.mj_getState(model, data, state, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    states, warm = np.tile(state, (BATCH, 1)), np.tile(data.qacc_warmstart, (BATCH, 1))
    force = mujoco.mjtState.mjSTATE_QFRC_APPLIED
    control = np.tile(data.qfrc_applied, (BATCH, 1, 1))
    return lambda: rollout.rollout(
        model, data, states, control, control_spec=force.value, nstep=1, initial_warmstart=warm
    )


def derivatives_of_pinocchio(peer):
    """Return a call of constraint dynamics and its derivatives."""
    function, arguments = peer.constraint_dynamics(1e-10, 1)

    def run():
        function(*arguments)
        peer.pin.computeConstraintDynamicsDerivatives(
            peer.model, peer.data, peer.constraints, peer.constraint_data, arguments[-1]
        )

    return run


def measure(key, seconds, derivatives):
    """Print the ratios of one model."""
    c = case(key)
    robot, pin, mj = c.robot, Pinocchio(c), MuJoCo(c)
    fast = CompiledMechanism(robot, gather(robot, c.q), threads=1)
    f, r = fast.forward_dynamics(c.q, c.v, c.tau_A), fast.inverse_dynamics(c.q, c.v, c.a)
    core, needed = (
        ccd.forward_dynamics(robot, c.q, c.v, c.tau_A),
        ccd.inverse_dynamics(robot, c.q, c.v, c.a),
    )
    J_C, _, bias = ccd.constraint_jacobian(robot, c.q, c.v)
    loops = np.abs(J_C @ f.acceleration + bias).max() / np.abs(f.acceleration).max()
    print(
        f'{key}: forward {relative(f.acceleration, core.acceleration):.1e} from the core, loops '
        f'{loops:.1e}; inverse {relative(r.tau_A, needed.tau_A):.1e}; '
        f'generic {f.generic or r.generic}'
    )
    rows = [np.tile(x, (BATCH, 1)) for x in (c.q, c.v, c.tau_A)]
    calls = {
        'compiled forward': (fast.forward_dynamics, (c.q, c.v, c.tau_A)),
        'core forward': (ccd.forward_dynamics, (robot, c.q, c.v, c.tau_A)),
        **{f'forward by {name}': call for name, call in best_forward(c, pin).items()},
        'forward by MuJoCo': mj.forward(),
        'compiled inverse': (fast.inverse_dynamics, (c.q, c.v, c.a)),
        'Pinocchio + NumPy inverse': (pin.inverse_by_null_space, ()),
    }
    if derivatives:
        calls['compiled derivatives'] = (fast.derivatives, (c.q, c.v, c.tau_A))
        calls['Pinocchio derivatives'] = (derivatives_of_pinocchio(pin), ())
    times = interleave(calls, seconds)
    batches = {
        'compiled batch': (fast.forward_dynamics, tuple(rows)),
        'MuJoCo batch': (batch_of_mujoco(MuJoCo(c)), ()),
    }
    for name, values in interleave_cpu(batches, TURNS).items():
        times[name] = values / BATCH
    for name, values in times.items():
        print(f'  {name:52} {np.median(values):10.2f} us   best {values.min():10.2f} us')
    best = np.min([each for name, each in times.items() if name.startswith('forward by')], axis=0)
    for what, theirs, ours in (
        ('forward, best peer', best, times['compiled forward']),
        ('forward, core', times['core forward'], times['compiled forward']),
        ('generic forward, best peer', best, times['core forward']),
        (
            'inverse, Pinocchio + NumPy',
            times['Pinocchio + NumPy inverse'],
            times['compiled inverse'],
        ),
        ('batch, MuJoCo', times['MuJoCo batch'], times['compiled batch']),
        *(
            [
                (
                    'derivatives, Pinocchio',
                    times['Pinocchio derivatives'],
                    times['compiled derivatives'],
                )
            ]
            if 'compiled derivatives' in times
            else []
        ),
    ):
        print(f'  {what:28} {np.median(theirs / ours):8.2f} times')


def measure_steps(name):
    """Print how long steps of a simulation take in generated code and in the generic kernels."""
    robot = ccd.load(name)
    q, rng = ccd.assemble(robot), np.random.default_rng(1)
    v = ccd.complete_velocity(robot, q, 0.3 * rng.normal(size=robot.nv))
    for integrator in ('rk4', 'euler'):
        options = {'q': q, 'v': v, 'integrator': integrator, 'log_every': 0, 'limits': False}
        sims = [ccd.Simulation(robot, compiled=c, **options) for c in (True, False)]

        calls = {f'{sim.compiled}': (sim.run, (STEPS * sim.dt,)) for sim in sims}
        times = {key: each / STEPS for key, each in interleave_cpu(calls, TURNS).items()}
        apart = np.abs(sims[0].q - sims[1].q).max()
        print(
            f'{name}, {integrator}: a step in {np.median(times["True"]):.2f} us, generic '
            f'{np.median(times["False"]):.2f} us, {np.median(times["False"] / times["True"]):.2f} '
            f'times; {apart:.1e} apart at the end; {sims[0].generated}'
        )


def main():
    """Measure the models that are named, or all three."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument('models', nargs='*', default=['M2', 'M3', 'M4_64'])
    parser.add_argument('--seconds', type=float, default=5.0)
    parser.add_argument('--derivatives', action='store_true', help='these too: long to compile')
    parser.add_argument('--steps', action='store_true', help='steps of shipped models instead')
    args = parser.parse_args()
    if args.steps:
        for name in args.models:
            measure_steps(name)
        return
    for key in args.models:
        measure(key, args.seconds, args.derivatives)


if __name__ == '__main__':
    main()
