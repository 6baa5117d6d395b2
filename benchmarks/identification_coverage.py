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
How often identification is right: confidence that is stated against confidence that is kept.

Torques of an excitation get noise of 5 % for 100 seeds, and base parameters are estimated from
each record. Drawn is how many of the records have the true base parameters within the region of a
stated confidence, all at once; a region that says what is true is on the diagonal. Then noise of
20 %: every body found must be one that can exist. Usage:

    python -m benchmarks.identification_coverage [--picture FILE] [MODEL.urdf:MOTOR,MOTOR ...]

The five-bar and the arm exoskeleton are always there; models from elsewhere are named with their
motors.
"""

import argparse
from pathlib import Path

import numpy as np

import closed_chain_dynamics as ccd
from closed_chain_dynamics.identification.estimation import (
    consistent_estimate,
    estimate,
    pseudo_inertia,
)
from closed_chain_dynamics.identification.excitation import excite
from closed_chain_dynamics.identification.parameters import (
    OF_LINK,
    parameters_of,
    values_of,
    with_values,
)

SEEDS, NOISE, MORE_NOISE = 100, 0.05, 0.2  # shares of the rms torque
CONFIDENCES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
POSES = {  # away from singular ones
    'exo': {'rho1': -0.4, 'rho2': -0.8, 'rho4': 0.8, 'rho5': 0.8, 'rho7': 0.0},
    'planar_leg_linkage': {'base_to_thigh': 0.3, 'thigh_to_driver': 0.6},
}
BODIES = 10  # seeds of the larger noise: the search for bodies takes longer


def resisted(robot):
    """Return a mechanism whose joints have damping, friction and armature, and what is true."""
    parameters = parameters_of(robot)
    pi, rng = values_of(robot, parameters), np.random.default_rng(0)
    for k, each in enumerate(parameters):
        if each.kind not in OF_LINK:
            pi[k] = rng.uniform(0.01, 0.05)
    return ccd.Mechanism(with_values(robot.description, parameters, pi)), parameters, pi


def covered(found, tau, true):
    """Return of how many seeds the region of each confidence holds all base parameters."""
    noise, counts = NOISE * np.sqrt((tau**2).mean(axis=0)), np.zeros(len(CONFIDENCES), int)
    for seed in range(SEEDS):
        noisy = tau + np.random.default_rng(seed).normal(size=tau.shape) * noise
        for k, confidence in enumerate(CONFIDENCES):
            got = estimate(found.regressor, noisy, base=found.base, confidence=confidence)
            counts[k] += got.contains(true)
    return counts


def impossible(found, tau, parameters, pi):
    """Return how many bodies, found from records with more noise, cannot exist."""
    noise, wrong = MORE_NOISE * np.sqrt((tau**2).mean(axis=0)), 0
    for seed in range(BODIES):
        rng = np.random.default_rng(seed)
        noisy = tau + rng.normal(size=tau.shape) * noise
        got = estimate(found.regressor, noisy, base=found.base)
        bodies = consistent_estimate(found.regressor, noisy, got, pi * rng.uniform(0.5, 2.0))
        for k, each in enumerate(parameters):
            if each.kind == 'm':
                wrong += np.linalg.eigvalsh(pseudo_inertia(bodies.pi[k : k + 10]))[0] <= 0.0
            wrong += each.kind not in OF_LINK and bodies.pi[k] < 0.0
    return int(wrong)


def draw(counts, path):
    """Write the picture."""
    from matplotlib import pyplot as plt

    figure, axis = plt.subplots(figsize=(5, 4), layout='constrained')
    stated = 100.0 * np.array(CONFIDENCES)
    axis.plot([50, 100], [50, 100], 'k--', linewidth=1.0)
    spread = 2.0 * np.sqrt(stated * (100.0 - stated) / SEEDS)  # of counts, two deviations
    axis.fill_between(stated, stated - spread, stated + spread, alpha=0.15, color='k')
    for name, kept in counts.items():
        axis.plot(stated, 100.0 * kept / SEEDS, 'o-', label=name)
    axis.set(xlabel='confidence stated [%]', ylabel='records within the region [%]')
    axis.legend()
    axis.grid(alpha=0.3)
    figure.savefig(path, dpi=100)


def main():
    """Measure and print, a line per model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument('models', nargs='*', help='further models, as leg.urdf:hip,knee')
    parser.add_argument('--picture', help='file to draw into')
    args = parser.parse_args()
    robots = {name: ccd.load(name) for name in ('five_bar', 'exo')}
    for each in args.models:
        file, _, motors = each.partition(':')
        robots[Path(file).stem] = ccd.load(file, actuated=motors.split(','))
    counts = {}
    for name, plain in robots.items():
        robot, parameters, pi = resisted(plain)
        q = ccd.assemble(robot, POSES.get(name, {}))
        found = excite(robot, q, candidates=2, improvements=2, samples=240)
        states = zip(found.motion.q, found.motion.v, found.motion.a)
        tau = np.array([ccd.inverse_dynamics(robot, *state).tau_A for state in states])
        counts[name] = covered(found, tau, found.base.values(pi))
        kept = ', '.join(f'{c:.0%} {n}' for c, n in zip(CONFIDENCES, counts[name]))
        print(
            f'{name}: {len(found.base.names)} base parameters, condition {found.condition:.0f}; '
            f'of {SEEDS} seeds within {kept}; at {MORE_NOISE:.0%} noise '
            f'{impossible(found, tau, parameters, pi)} impossible bodies'
        )
    if args.picture:
        draw(counts, args.picture)


if __name__ == '__main__':
    main()
