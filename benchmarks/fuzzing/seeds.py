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

"""Good inputs to spoil: shipped models in all dialects, files of the tests, and the corpus."""

from pathlib import Path
import sys
import tempfile

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description.conversion import FORMATS
from closed_chain_dynamics.model import library

__all__ = ['CORPUS', 'seeds']

ROOT = Path(__file__).resolve().parents[2]
CORPUS = ROOT / 'test' / 'corpus'  # a folder per reader: what was found once, and good seeds
SMALL = ('pendulum', 'four_bar', 'slider_crank', 'two_link', 'exo_leg')
WORDS = (
    *('crank=1.57', 'base=0,0,1,0,0,0,1', 'mass:arm=1,2,3', 'damping:swing=uniform(0, 0.1)'),
    *('length:arm=xnorm(1, 0.1)', 'gravity=range(1, 9, 5)', 'peak=max(abs(v.swing))'),
    *("time_of('lift_off', 'foot')", 'last(kinetic) + 2 * max(q.swing) ** 2', "q['swing'] > 1"),
)
STUDY = """vary: {'mass:arm': [1, 2], 'damping:swing': 'uniform(0, 0.1)', gravity: 'range(1, 9)'}
responses: {peak: max(abs(v.swing)), last: last(kinetic)}
q: {swing: 0.5}
time: 0.01
dt: 0.001
samples: 4
seed: 1
design: latin
"""
TABLE = 'time,crank,tau:crank\n' + ''.join(f'{0.1 * k:.1f},{0.01 * k:.2f},1\n' for k in range(8))


def seeds(name: str) -> list[bytes]:
    """Return good inputs of a reader, and those that were found."""
    return [*_made(name), *(each.read_bytes() for each in sorted((CORPUS / name).glob('*')))]


def _made(name: str) -> list[bytes]:
    models = [library.shipped()[each] for each in SMALL]
    if name in ('urdf', 'description', 'check'):
        sys.path.append(str(ROOT / 'test'))
        from helpers.bad_files import CASES

        bad = [text.encode() for text, *_ in CASES.values()] if name != 'check' else []
        return [*(each.read_bytes() for each in models), *bad]
    if name in ('dialects', 'mjcf', 'sdf', 'extended'):
        kinds = ('urdf+', 'drake') if name == 'dialects' else (name,)
        return [text for kind in kinds for text in _converted(kind)]
    if name == 'lists':
        return [each.read_bytes() for each in library.shipped_lists().values()]
    if name in ('log', 'bag'):
        return [_recorded(name)]
    if name == 'motion':
        return [TABLE.encode()]
    if name == 'record':
        return [TABLE.replace('crank', 'swing').encode()]
    if name == 'study':
        return [STUDY.encode()]
    if name == 'words':
        return [each.encode() for each in WORDS]
    if name == 'contact_state':
        return [
            b'{"coupler_rocker": true}',
            b'{"coupler_rocker": false, "crank": true}',
            b'crank@1.5',
        ]
    if name == 'xacro':
        return []
    from benchmarks.fuzzing import messages

    return messages.seeds(name)


def _converted(kind: str) -> list[bytes]:
    """Return shipped models in another dialect."""
    texts = []
    for name in SMALL:
        robot = ccd.load(name)
        try:
            q = ccd.assemble(robot)
            pose = {each: tuple(q[robot.joint_slices(each)[0]]) for each in robot.joint_names}
            written, _ = FORMATS[kind][0](robot.description, (0.0, 0.0, -9.81), pose)
        except ccd.ClosedChainError:
            continue  # not everything has a place in every dialect
        texts += [
            text.encode()
            for suffix, text in written.items()
            if kind != 'extended' or suffix == '.yaml'
        ]
    return texts


def _recorded(name: str) -> bytes:
    """Return the log of a short run as a file."""
    robot = ccd.load('pendulum')
    run = ccd.Simulation(robot, q=ccd.assemble(robot, {'swing': 0.5}))
    run.run(0.02)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f'run.{"npz" if name == "log" else "mcap"}'
        (run.log.to_npz if name == 'log' else run.log.to_mcap)(path)
        return path.read_bytes()
