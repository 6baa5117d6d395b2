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
Steps of the generic kernels beside MuJoCo's, and how forward dynamics grows with a ladder.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.steps [M1 M2 M3 M4_8 M4_64] [--ladder]

A turn is a run of steps of 0.2 ms in one call of each engine; runs take turns, in processor time,
and a ratio is the median over the turns of the ratio within one. Semi-implicit Euler with
projection onto the loops stands against MuJoCo's `implicitfast`, one evaluation each; RK4 with
projection against its RK4. Beside every ratio: by how much loops are open at the end, here and
there. `--ladder` tells how many times a ladder of 256 four-bars takes as long as one of 64.
"""

import argparse

import numpy as np

from benchmarks.generated_code import interleave_cpu
from benchmarks.models import case
from benchmarks.peers import MuJoCo
import closed_chain_dynamics as ccd

STEP, TURNS = 2e-4, 9
STEPS = {'M1': 200, 'M2': 100, 'M3': 100, 'M4_8': 100, 'M4_64': 10}
SLOWLY = 0.1  # share of the case's velocities: steps are to be plain ones


def loop_error(peer):
    """Return by how much MuJoCo's loops are open [m or rad]."""
    kinds, data = peer.mujoco.mjtConstraint, peer.data
    rows = data.efc_type[: data.nefc] == kinds.mjCNSTR_EQUALITY
    return np.abs(data.efc_pos[: data.nefc][rows]).max()


def measure(key):
    """Print the ratios of one model."""
    c = case(key)
    v, steps = SLOWLY * c.v, STEPS[key]
    for ours, theirs in (('euler', 'mjINT_IMPLICITFAST'), ('rk4', 'mjINT_RK4')):
        options = {'dt': STEP, 'integrator': ours, 'log_every': 0, 'limits': False}
        sim, peer = ccd.Simulation(c.robot, q=c.q, v=v, **options), MuJoCo(c)
        peer.model.opt.timestep = STEP
        peer.model.opt.integrator = getattr(peer.mujoco.mjtIntegrator, theirs)
        peer.set_state(v)
        peer.data.qfrc_applied[:] = 0.0
        peer.model.eq_solref[:] = 5.0 * STEP, 1.0  # as stiff as is stable with this step
        calls = {
            'ours': (sim.run, (steps * STEP,)),
            'theirs': (peer.mujoco.mj_step, (peer.model, peer.data, steps)),
        }
        times = {name: each / steps for name, each in interleave_cpu(calls, TURNS).items()}
        print(
            f'{key}, {ours}: a step in {np.median(times["ours"]):.2f} us, MuJoCo '
            f'{np.median(times["theirs"]):.2f} us, '
            f'{np.median(times["theirs"] / times["ours"]):.2f} times; loops open by '
            f'{sim.loop_error():.1e}, MuJoCo {loop_error(peer):.1e}'
        )


def measure_ladder():
    """Print how forward dynamics grows from 64 to 256 four-bars."""
    cases = {key: case(key) for key in ('M4_64', 'M4_256')}
    calls = {key: (ccd.forward_dynamics, (c.robot, c.q, c.v, c.tau_A)) for key, c in cases.items()}
    many = {
        key: (lambda f=f, a=a: [f(*a) for _ in range(20)], ()) for key, (f, a) in calls.items()
    }
    times = interleave_cpu(many, 4 * TURNS)
    print(f'M4_256 takes {np.median(times["M4_256"] / times["M4_64"]):.2f} times as long as M4_64')


def main():
    """Measure the models that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument('models', nargs='*', default=list(STEPS))
    parser.add_argument('--ladder', action='store_true', help='the growth of ladders too')
    args = parser.parse_args()
    for key in args.models:
        measure(key)
    if args.ladder:
        measure_ladder()


if __name__ == '__main__':
    main()
