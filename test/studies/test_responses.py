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

"""Responses of a study: arithmetic over the log of a run, and nothing else."""

import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.errors import ClosedChainError
from closed_chain_dynamics.studies.responses import Response


@pytest.fixture(scope='module')
def log():
    robot = ccd.load('four_bar')
    q = ccd.assemble(robot, {'crank': 1.0})
    sim = ccd.Simulation(robot, q, ccd.complete_velocity(robot, q, {'crank': 2.0}))
    sim.run(0.2)
    sim.cut('coupler_rocker')
    sim.run(0.1)
    return sim.log


@pytest.mark.parametrize(
    ('text', 'value'),
    [
        ('max(abs(v.crank))', lambda log: abs(log.velocity('crank')).max()),
        ("last(q['rocker'])", lambda log: log.joint('rocker')[-1]),
        ('rms(kinetic)', lambda log: np.sqrt((log.kinetic**2).mean())),
        ('mean(energy) / 2', lambda log: (log.kinetic + log.potential).mean() / 2.0),
        ('integral(v.crank)', lambda log: np.trapezoid(log.velocity('crank'), log.time)),
        ('at(q.crank, 0.1)', lambda log: log.joint('crank')[100]),
        ('when(time > 0.1 and kinetic >= 0)', lambda log: 0.101),
        ("time_of('cut', 'coupler_rocker')", lambda log: 0.2),
        ("count('cut')", lambda log: 1.0),
        ('-2 ** 2 + 7 % 4', lambda log: -1.0),
        ('max(0 < v.crank < 1e9)', lambda log: float((log.velocity('crank') > 0).any())),
        (
            'max(force.crank)',
            lambda log: np.linalg.norm(log.reactions('crank', every=2)[:, :3], axis=1).max(),
        ),
    ],
)  # fmt: skip
def test_a_response_is_what_numpy_says(log, text, value):
    response = Response('r', text)
    response.check(log.robot)
    assert response.of(log) == pytest.approx(value(log), rel=1e-12)


@pytest.mark.parametrize(
    'text',
    [
        '__import__("os").system("true")', 'q.crank.__class__', 'open("/etc/passwd")', 'lambda: 1',
        '[x for x in time]', 'q["crank"][0]', 'time.mean()', 'f"{time}"', '"a"', 'max(time, 1)',
        'max(*time)', 'when()', 'time_of(1)', '1 if time else 2', 'x := 1', 'max(time',
        '(' * 90 + '1', '1' * 2000, 'print', "q['cran']", 'tau.rocker',
        "count('cutt')", 'max(vv.crank)',
    ],
)  # fmt: skip
def test_nothing_but_arithmetic_over_the_log_passes(log, text):
    with pytest.raises(ClosedChainError):
        Response('r', text).check(log.robot)


def test_a_power_without_end_is_told_at_once(log):
    with pytest.raises(ValueError, match='inf'):
        Response('r', '9**9**9**9').of(log)
