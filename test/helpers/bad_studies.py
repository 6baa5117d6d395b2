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

"""Studies that must be refused: id -> function of a folder."""

from concurrent.futures import Future
from importlib.util import find_spec
import re
import sys
from types import SimpleNamespace
from unittest.mock import patch

from helpers.bad_motions import ball_file
from helpers.called_mechanisms import four_bar
from helpers.called_where import command, without
import numpy as np
from scipy.sparse import csr_matrix

import closed_chain_dynamics as ccd
from closed_chain_dynamics.cli import study
from closed_chain_dynamics.identification.estimation import estimate
from closed_chain_dynamics.identification.excitation import excite
from closed_chain_dynamics.identification.records import read_record
from closed_chain_dynamics.identification.regressor import Regressor, regressor
from closed_chain_dynamics.studies import workers
from closed_chain_dynamics.studies.experiment import Experiment
from closed_chain_dynamics.studies.ground import Ground
from closed_chain_dynamics.studies.maps import study_map
from closed_chain_dynamics.studies.motion.marker_files import read_markers
from closed_chain_dynamics.studies.motion.moving import Motion
from closed_chain_dynamics.studies.nearest_motion import nearest_motion
from closed_chain_dynamics.studies.quadratic_program import least_quadratic
from closed_chain_dynamics.studies.responses import read_response
from closed_chain_dynamics.studies.results import run_experiment
from closed_chain_dynamics.studies.sampling import read_variation, salib
from closed_chain_dynamics.studies.study_file import read_study
from closed_chain_dynamics.studies.validity import study_validity

__all__ = ['STUDIES']

TURNS = 'time,ball:qx,ball:qy,ball:qz,ball:qw\n' + ''.join(f'{t},0,0,0,1\n' for t in range(9))
CRANK = 'time,crank\n' + ''.join(f'{t},1\n' for t in range(9))


def asked(*arguments):
    """Return a call of `closed-chain study`."""
    return command(*arguments, module=study)


def vary(*variations, model='pendulum'):
    """Return a call of a what-if study."""
    return asked('what-if', model, '--vary', *variations, '--time', '0.01')


def compare(text, *arguments, model='four_bar'):
    """Return a call of a study of a record with these lines."""

    def run(at):
        (at / 'record.csv').write_text(text)
        name = ball_file(at) if model == 'ball' else model
        asked('consistency', name, '--trajectory', at / 'record.csv', *arguments)(at)

    return run


def too_short(at):
    """Ask whether a single pose comes back."""
    robot, q = four_bar()
    study_validity(robot, Motion(np.zeros(1), q[None], np.zeros((1, 3)), np.zeros((1, 3)), []))


def experiment(*vary, responses=('max(time)',), **options):
    """Return an experiment with a pendulum."""
    options = {'duration': 0.002, **options}
    variations = tuple(map(read_variation, vary))
    return Experiment(
        ccd.load('pendulum'), variations, tuple(map(read_response, responses)), **options
    )


def at_scale(*vary, **options):
    """Return a call that runs an experiment."""
    return lambda at: run_experiment(experiment(*vary, **options), at / 'runs', workers=1)


def asking(expression):
    """Return a call that runs an experiment with this response."""
    return at_scale('mass:arm=1', responses=(f'r={expression}',))


def written(text):
    """Return a call that reads a study file with this text."""

    def run(at):
        (at / 'study.yaml').write_text(text)
        read_study(at / 'study.yaml')

    return run


def another_study(at):
    """Run a study in the folder of another."""
    for mass in (1, 2):
        run_experiment(experiment(f'mass:arm={mass}'), at / 'runs', workers=1)


def no_cluster(at):
    """Ask for a scheduler where there is none, without the patience that a user has."""
    with patch.object(workers, 'CONNECT_WITHIN', 0.5):
        next(workers.rows(experiment('mass:arm=1'), [0], scheduler='tcp://127.0.0.1:1'))


def cluster_that_ends(at):
    """Let a task come back with the loss of its cluster."""
    task = Future()
    task.set_exception(OSError('the scheduler has gone'))
    place = SimpleNamespace(count=1, pool=SimpleNamespace(submit=lambda *_: task))
    next(workers._done(place, experiment('mass:arm=1'), [0]))


def lacking(library, call):
    """Return a call without a library."""

    def run(at):
        with without(library):
            call(at)

    return run


def torque_free(at):
    """Identify from a record without torques."""
    (at / 'record.csv').write_text(CRANK)
    robot, q = four_bar()
    read_record(robot, at / 'record.csv', q)


def torque_that_is_none(at):
    """Identify from a record with a torque that is no number."""
    lines = CRANK.replace('crank', 'crank,tau:crank').replace(',1\n', ',1,0\n')
    (at / 'record.csv').write_text(lines.replace('7,1,0', '7,1,much'))
    robot, q = four_bar()
    read_record(robot, at / 'record.csv', q)


def no_bag(at):
    """Identify from a file that is no bag."""
    (at / 'record.mcap').write_text('nothing')
    robot, q = four_bar()
    read_record(robot, at / 'record.mcap', q)


def without_motors(at):
    """Ask for the regressor of a mechanism without motors."""
    robot = ccd.load('four_bar', actuated=[])
    q = ccd.assemble(robot, {'crank': 1.0})
    regressor(robot, q, np.zeros(3), np.zeros(3))


def too_few(at):
    """Estimate from fewer samples than parameters."""
    robot, q = four_bar()
    one = regressor(robot, q, np.ones(3), np.ones(3))
    estimate(Regressor(one.Y, one.known, one.parameters, one.actuators), np.ones((1, 1)))


def at_an_end(at):
    """Excite a slider that may not move at all."""
    model = ccd.load('pendulum', actuated=['swing'])
    text = ccd.description.to_xml(model.description).replace('"continuous"', '"revolute"')
    none = '<limit lower="0" upper="1e-9" effort="1" velocity="1e-9"/>'
    robot = ccd.load(re.sub('<limit [^>]*/>', none, text))
    excite(robot, np.zeros(1), candidates=1, improvements=0)


TRC = (
    'PathFileType\t4\t(X/Y/Z)\tx.trc\nDataRate\tNumFrames\tNumMarkers\tUnits\n9\t4\t3\tmm\n'
    'Frame#\tTime\tcrank_link\t\t\tcoupler_link\t\t\trocker_link\n\t\tX1\tY1\tZ1\n'
) + ''.join(f'{k}\t{k}' + 9 * '\t1' + '\n' for k in range(4))
BVH = (
    'HIERARCHY ROOT hips { OFFSET 0 0 0 CHANNELS 1 Zrotation End Site { OFFSET 0 1 0 } } '
    'MOTION Frames: 4 Frame Time: 0.1 0 0 0 0'
)


def marked(name, text, setup=''):
    """Return a call of a study of markers in a file with this name and text."""

    def run(at):
        (at / name).write_text(text)
        (at / 'setup.yaml').write_text(setup)
        extra = ['--setup', at / 'setup.yaml'] if setup else []
        asked('consistency', 'four_bar', '--markers', at / name, *extra)(at)

    return run


def set_up(text):
    """Return a call that reads a setup with this text."""
    return marked('run.trc', TRC, text)


def no_c3d(at):
    """Read a file that is no C3D, by ezc3d or, where that is not there, by what refuses too."""

    def refuse(path):
        raise OSError(f'{path} is not a C3D')

    stand_in = {} if find_spec('ezc3d') else {'ezc3d': SimpleNamespace(c3d=refuse)}
    (at / 'run.c3d').write_text('nothing')
    with patch.dict(sys.modules, stand_in):
        read_markers(at / 'run.c3d')


def uneven(at):
    """Look for the nearest motion of samples that are not even."""
    robot, q = four_bar()
    rest = np.zeros((5, 3))
    motion = Motion(np.array([0.0, 1.0, 2.0, 4.0, 5.0]), np.tile(q, (5, 1)), rest, rest)
    nearest_motion(robot, motion, Ground(()), np.zeros((5, 0), dtype=bool))


def impossible(at):
    """Ask for a number that is negative and is not."""
    one = csr_matrix(np.eye(1))
    least_quadratic(one, np.zeros(1), one, -np.ones(1), np.ones(1, dtype=bool))


STUDIES = {
    'markers of another kind': marked('run.xyz', ''),
    'markers with an axis that is none': lambda at: read_markers(at / 'run.trc', up='w'),
    'markers that are not there': lambda at: read_markers(at / 'run.trc'),
    'markers without headings': marked('run.trc', 'a\tb\n'),
    'markers without names': marked('run.trc', TRC.replace('Frame#', 'Number')),
    'markers with a word': marked('run.trc', TRC.replace('2\t2\t1', '2\t2\tone')),
    'markers without a time': marked('run.trc', TRC.replace('2\t2\t1', '2\t\t1')),
    'markers in feet': marked('run.trc', TRC.replace('\tmm', '\tfeet')),
    'markers of three frames': marked('run.trc', TRC[: TRC.rindex('3\t3')]),
    'a marker there twice': marked('run.trc', TRC.replace('coupler_link', 'crank_link')),
    'markers that nobody knows': marked('run.trc', TRC.replace('_link', '')),
    'a marker that was not recorded': set_up('markers: {knee: {link: crank_link}}'),
    'markers that nobody sees': marked('run.trc', TRC.replace('2\t2\t1\t1', '2\t2\t\t')),
    'C3D without its library': lacking('ezc3d', lambda at: marked('run.c3d', 'nothing')(at)),
    'a C3D file that is none': no_c3d,
    'a skeleton that is cut off': marked('run.bvh', BVH[:60]),
    'a skeleton with another word': marked('run.bvh', BVH.replace('OFFSET', 'OFSET')),
    'a skeleton with too few numbers': marked('run.bvh', BVH[:-2]),
    'a skeleton that is not there': lambda at: read_markers(at / 'run.bvh'),
    'a setup that is no YAML': set_up('{'),
    'a setup without keys': set_up('[1]'),
    'a setup with a misspelt key': set_up('maker: {}'),
    'a setup with a number for points': set_up('markers: 3'),
    'a setup with a number for a point': set_up('markers: {knee: 3}'),
    'a setup with a misspelt entry': set_up('markers: {knee: {lonk: a}}'),
    'a setup with an unknown link': set_up('markers: {knee: {link: knee}}'),
    'a setup with a word for a number': set_up('markers: {a: {link: crank_link, xyz: b}}'),
    'a setup with a weight of zero': set_up('markers: {a: {link: crank_link, weight: 0}}'),
    'a ground with a misspelt entry': set_up('ground: {hight: 0}'),
    'a ground with a word for a number': set_up('ground: {height: low}'),
    'a nearest motion of uneven samples': uneven,
    'a nearest motion that there is not': impossible,
    'a study without responses': at_scale('mass:arm=1', responses=()),
    'a study of nothing known': at_scale('maas:arm=1'),
    'a torque of a study on nothing': at_scale('tau:swong=1'),
    'a length of a link that has none': at_scale('length:arm=1'),
    'generated code of another model': at_scale('gravity=1.62', compiled=True),
    'a parameter there twice': at_scale('mass:arm=1', 'mass:arm=2'),
    'a factor of nothing': at_scale('q:swing=x2'),
    'an unknown design': at_scale('mass:arm=1', kind='lattin', samples=3),
    'a grid of a distribution': at_scale('mass:arm=norm(1,1)'),
    'a negative seed': at_scale('mass:arm=uniform(1,1)', kind='latin', samples=2, seed=-1),
    'samples of nothing': at_scale(kind='latin', samples=2),
    'samples without number': at_scale('mass:arm=norm(1,1)', kind='latin'),
    'too many runs': at_scale('mass:arm=uniform(1,1)', kind='random', samples=10**9),
    'an unknown distribution': at_scale('mass:arm=nrom(1,1)', kind='latin', samples=2),
    'a distribution of other numbers': at_scale('mass:arm=norm(1,1,1,1)', kind='latin', samples=2),
    'a response that is too long': asking('1' * 2000),
    'a response that is cut off': asking('max(time'),
    'a response that is code': asking('(lambda: 1)()'),
    'a response of many arguments': asking('max(time, time)'),
    'a response of an unknown series': asking('max(tim)'),
    'a response of an unknown part': asking('max(w.swing)'),
    'a response of an unknown joint': asking('max(q.swong)'),
    'a response of an unknown function': asking('maximum(time)'),
    'a response of an unknown event': asking("time_of('cutt')"),
    'a response of an event of nothing': asking("time_of('cut', 'swong')"),
    'a response of an event without name': asking('time_of(1)'),
    'an unknown response to minimise': lambda at: asked(
        'what-if',
        'pendulum',
        '--vary',
        'mass:arm=1',
        '--response',
        'a=max(time)',
        '--results',
        at / 'runs',
        '--minimise',
        'b',
    )(at),
    'a folder of another study': another_study,
    'a cluster that nobody has': no_cluster,
    'a cluster that ends': cluster_that_ends,
    'a cluster without its library': lacking(
        'distributed', lambda at: next(workers.rows(experiment('mass:arm=1'), [0], scheduler='a'))
    ),
    'indices without their library': lacking('SALib', lambda at: salib('analyze')),
    'bags without their library': lacking('rosbags.highlevel', no_bag),
    'a study file that is missing': lambda at: read_study(at / 'none.yaml'),
    'a study file without end': written('[' * 1000),
    'a study file without keys': written('[1, 2]'),
    'a study file with a misspelt key': written('vari: {}'),
    'a study file with a word for a number': written('time: soon'),
    'a study file with half a sample': written('samples: 4.5'),
    'a record without torques': torque_free,
    'a record with a torque that is none': torque_that_is_none,
    'a record that is no bag': no_bag,
    'identification without motors': without_motors,
    'a record too short to identify': too_few,
    'an excitation at an end': at_an_end,
    'a map over three coordinates': lambda at: study_map(
        four_bar()[0], {'crank': [1], 'coupler': [1], 'rocker': [1]}
    ),
    'a map over an unknown joint': asked('map', 'four_bar', '--over', 'crnk=1'),
    'a motion of one pose': too_short,
    'a mass of zero': vary('mass:arm=0'),
    'a negative damping': vary('damping:swing=-1'),
    'gravity without end': vary('gravity=inf'),
    'a grid without end': vary('mass:arm=' + ','.join(map(str, range(1, 202)))),
    'a mass varied twice': vary('mass:arm=1', 'mass:arm=2'),
    'an unknown parameter': vary('maas:arm=1'),
    'the mass of an unknown link': vary('mass:arn=1'),
    'the stiffness of an unknown spring': vary('stiffness:arm=1'),
    'the friction of no contact': vary('mu:coupler_rocker=1', model='four_bar'),
    'an unknown joint to watch': asked(
        'what-if', 'pendulum', '--vary', 'gravity=1', '--watch', 'swong'
    ),
    'a torque on an unknown joint in a study': asked(
        'what-if', 'pendulum', '--vary', 'gravity=1', '--tau', 'swong=1'
    ),
    'a cutoff beyond the samples': compare(CRANK, '--smooth', 3),
    'samples that are not even': compare(CRANK.replace('\n5,', '\n5.5,'), '--smooth', 0.2),
    'a ball that is smoothed': compare(TURNS, '--smooth', 0.2, model='ball'),
}
