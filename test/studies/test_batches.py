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

"""Runs in generated code, by themselves and in vector lanes, against those of the kernels."""

from pathlib import Path

import numpy as np
import pytest
from scipy.special import ellipk

import closed_chain_dynamics as ccd
from closed_chain_dynamics.errors import StateError
from closed_chain_dynamics.studies.batches import AGREE, Batch, why_alone
from closed_chain_dynamics.studies.experiment import Experiment
from closed_chain_dynamics.studies.experiment_checks import check_experiment
from closed_chain_dynamics.studies.responses import read_response
from closed_chain_dynamics.studies.results import run_experiment
from closed_chain_dynamics.studies.runs import Runs
from closed_chain_dynamics.studies.sampling import read_variation

GENERATED = 1e-9  # of steps in generated code, which do the same in another order
BATCHED = 10.0 * AGREE  # relative, of responses: states agree to AGREE
MOTION = (
    'last(q.crank)',
    'max(abs(v.rocker))',
    'rise=last(energy) - first(energy)',
    'max(tau.crank)',
)
LOOPS = ('last(q.coupler_rocker)', 'integral(v.coupler_rocker)')

pytest.importorskip('casadi')


def experiment(*vary, responses=MOTION, model='four_bar', **options):
    options = {'duration': 0.1, 'compiled': True, 'kind': 'latin', 'samples': 12, **options}
    return Experiment(
        ccd.load(model) if isinstance(model, str) else model,
        tuple(map(read_variation, vary)),
        tuple(map(read_response, responses)),
        **options,
    )


def compare(study):
    """Compare all rows with those of runs that are taken by themselves; return the batch."""
    check_experiment(study)
    assert not why_alone(study)
    runs = Runs(study)
    task = [(k, tuple(values)) for k, values in enumerate(study.design.tolist())]
    for one, (k, values) in zip(runs.rows(task), task):
        other = runs.row(k, values)
        assert one.failed == other.failed and one.values == other.values
        assert one.responses == pytest.approx(other.responses, rel=BATCHED, abs=BATCHED)
    return runs.batch


def test_generated_code_gives_the_rows_of_the_generic_kernels():
    """Starts and torques vary, the model does not; books and loop forces are in the responses."""
    given = {
        'variations': (read_variation('q:crank=0.8,1.2'), read_variation('tau:crank=0,1')),
        'responses': tuple(
            map(read_response, ('a=last(q.crank)', 'b=max(abs(v.rocker))', 'c=last(work)'))
        ),
        'duration': 0.1,
    }
    generic, generated = (
        Experiment(ccd.load('four_bar'), compiled=each, **given) for each in (False, True)
    )
    for run, values in enumerate(generic.design):
        one, other = (Runs(each).row(run, values) for each in (generic, generated))
        assert not other.failed
        assert other.responses == pytest.approx(one.responses, rel=GENERATED, abs=GENERATED)


@pytest.mark.parametrize(
    'vary',
    [
        (
            'mass:coupler_link=xnorm(1,0.1)',
            'damping:crank=uniform(0,0.1)',
            'inertia:rocker_link=xuniform(0.5,1)',
            'armature:crank=uniform(0,0.1)',
        ),
        ('q:crank=norm(1,0.1)', 'v:crank=norm(0,1)', 'tau:crank=uniform(-0.5,1)'),
        ('mass:crank_link=uniform(0.2,0.4)', 'tau:crank=0,1', 'q:crank=0.8,1.2'),
    ],
)
def test_many_runs_at_once_give_the_rows_of_single_ones(vary):
    batch = compare(experiment(*vary, responses=(*MOTION, *LOOPS), q={'crank': 1.0}))
    logs = batch.logs(batch.experiment.design.tolist())
    assert all(log is not None for log in logs)  # all of them were taken at once


def test_springs_that_vary_are_inputs():
    study = experiment(
        'stiffness:s=uniform(5,10)', 'rest:s=uniform(-0.5,1)', model=SPRUNG,
        responses=('last(q.swing)', 'max(potential)'),
    )  # fmt: skip
    assert compare(study) is not None


SPRUNG = """<robot name="sprung" xmlns:cc="urn:closed_chain_dynamics">
<link name="base"/>
<link name="arm"><inertial><origin xyz="0 0 -0.4"/><mass value="2"/>
<inertia ixx="0.1" iyy="0.1" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="swing" type="continuous"><parent link="base"/><child link="arm"/>
<axis xyz="0 1 0"/></joint>
<cc:spring name="s" type="torsional" joint="swing">
<cc:law stiffness="8" damping="0.1" rest_angle="0.3"/></cc:spring></robot>"""


def test_the_period_of_a_pendulum_is_that_of_the_elliptic_integral():
    """Nobody here wrote the oracle: T = 4 sqrt(l / g) K(sin^2(a / 2)), l that of the inertia."""
    robot = ccd.load('pendulum')
    study = experiment(
        'q:swing=uniform(0.2,1)', 'mass:arm=xuniform(0.5,1)', 'damping:swing=0', model=robot,
        duration=1.0, samples=6, responses=('half=when(time > 0.2 and v.swing > 0)',),
    )  # fmt: skip
    link = next(each for each in robot.description.links if each.name == 'arm').inertia
    arm = np.linalg.norm(link.origin.xyz)
    length = (link.tensor[1, 1] + link.mass * arm**2) / (link.mass * arm)
    task = [(k, tuple(values)) for k, values in enumerate(study.design.tolist())]
    for row in Runs(study).rows(task):
        half = 2.0 * np.sqrt(length / 9.80665) * ellipk(np.sin(row.values[0] / 2.0) ** 2)
        assert 0.0 <= row.responses[0] - half <= 1.001 * study.dt  # the first sample beyond it


def test_runs_in_which_something_happens_are_taken_by_themselves():
    """The rocker of some comes to its stop: these have events, and are the same rows."""
    text = Path(ccd.load('four_bar').description.file).read_text()
    narrow = text.replace('lower="-2.6" upper="2.6"', 'lower="-2.6" upper="1.6"')
    assert narrow != text
    study = experiment(
        'v:crank=uniform(0,10)', responses=('last(q.rocker)',), q={'crank': 1.0}, model=narrow
    )
    taken = [log is not None for log in compare(study).logs(study.design.tolist())]
    assert any(taken) and not all(taken)


def test_steps_that_are_too_long_are_found_out():
    study = experiment('v:crank=2,300', kind='grid', samples=0, responses=('last(q.crank)',))
    slow, fast = Batch(study).logs(study.design.tolist())
    assert slow is not None and fast is None


def test_rows_do_not_depend_on_how_runs_are_grouped():
    study = experiment('mass:coupler_link=xnorm(1,0.1)', q={'crank': 1.0})
    task = [(k, tuple(values)) for k, values in enumerate(study.design.tolist())]
    together = Runs(study).rows(task)
    assert [row for each in task for row in Runs(study).rows([each])] == together
    assert Runs(study).rows(task[:5]) + Runs(study).rows(task[5:]) == together


@pytest.mark.parametrize(
    ('vary', 'options', 'why'),
    [
        ('q:crank=1,1.1', {'kd': {'crank': 1.0}}, 'a feedback acts'),
        ('q:crank=1,1.1', {'cut': {'coupler_rocker': 0.05}}, 'a feedback acts, or joints are'),
        ('q:crank=1,1.1', {'responses': ('last(work)',)}, 'asks for work'),
        ('q:crank=1,1.1', {'duration': 0.0503}, 'whole number of steps'),
        ('friction:crank=0,0.1', {}, 'friction:crank is no input'),
        ('length:crank_link=x0.99,x1', {}, 'length:crank_link is no input'),
    ],
)
def test_what_is_taken_one_by_one_is_told(vary, options, why):
    study = experiment(vary, **{'kind': 'grid', 'samples': 0, 'duration': 0.05, **options})
    assert why in why_alone(study)
    if vary.startswith('q:'):
        check_experiment(study)  # in generated code all the same
        return
    with pytest.raises(StateError, match='changes the model'):
        check_experiment(study)


def test_the_report_says_that_runs_were_taken_one_by_one(tmp_path):
    study = experiment('q:crank=1,1.1', kind='grid', samples=0, responses=('last(work)',))
    results = run_experiment(study, tmp_path / 'out', workers=1)
    assert results.notes == [
        'Runs were taken one by one: response last(work) asks for work, which only single runs '
        'keep.'
    ]


def test_contacts_are_taken_one_by_one():
    study = experiment('q:joint_1=0.5,0.6', model='two_link', responses=('last(q.joint_1)',))
    assert why_alone(study) == 'the model has contacts'


def test_processes_give_the_same_table_many_at_once(tmp_path):
    study = experiment('mass:coupler_link=xnorm(1,0.1)', q={'crank': 1.0}, samples=40)
    tables = [
        run_experiment(study, tmp_path / str(count), workers=count).table.read_bytes()
        for count in (1, 2)
    ]
    assert tables[0] == tables[1] and tables[0].count(b'\n') == 42
