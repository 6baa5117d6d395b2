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

"""Exported C against the core: compiled as C99 with sanitizers, in double and single precision."""

import json
import re
import shutil
import subprocess

import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.cli.main import main
from closed_chain_dynamics.codegen.compiler import find_compiler

STRICT = ['-std=c99', '-pedantic', '-Wall', '-Wextra', '-Werror', '-fno-fast-math']
SANITIZED = ['-fsanitize=address,undefined', '-fno-sanitize-recover=all']
# relative to the largest; float has seven digits, of which elimination and solving cost two
TOLERANCE = {False: 1e-12, True: 2e-4}
SANITIZED_MEMORY = ['-fsanitize=address', '-fno-sanitize-recover=all']
STEPS = 20
HARNESS = """
#include <stdio.h>
#include "model.h"
static void get(model_real *x, int n) {
  int i; double value;
  for (i = 0; i < n; ++i) { if (scanf("%lf", &value) != 1) value = 0; x[i] = (model_real)value; }
}
static void put(const model_real *x, int n) {
  int i;
  for (i = 0; i < n; ++i) printf("%.17g ", (double)x[i]);
  printf("\\n");
}
int main(void) {
  model_real q[MODEL_Q_COUNT + 1], v[MODEL_V_COUNT + 1], a[MODEL_V_COUNT + 1];
  model_real tau[MODEL_TAU_COUNT + 1], f[MODEL_V_COUNT + 1];
  model_real o[MODEL_V_COUNT + 1], g[MODEL_G_COUNT + 1], t[MODEL_TAU_COUNT + 1];
  model_real r[MODEL_G_COUNT + 1];
  int i;
  get(q, MODEL_Q_COUNT); get(v, MODEL_V_COUNT); get(a, MODEL_V_COUNT); get(tau, MODEL_TAU_COUNT);
  printf("%d\\n", (int)model_forward_dynamics(q, v, tau, f)); put(f, MODEL_V_COUNT);
  printf("%d\\n", (int)model_inverse_dynamics(q, v, a, o, g, t, r)); put(t, MODEL_TAU_COUNT);
  for (i = 0; i < STEPS; ++i)
    if (model_step_rk4(q, v, tau, (model_real)0.001) != MODEL_OK) return 1;
  put(q, MODEL_Q_COUNT); put(v, MODEL_V_COUNT);
  q[LOOSE] += (model_real)0.1;
  printf("%d\\n", (int)model_forward_dynamics(q, v, tau, f));
  q[0] = (model_real)(0.0 / (q[0] - q[0]));
  printf("%d\\n", (int)model_forward_dynamics(q, v, tau, f));
  printf("%d\\n", (int)model_step(q, v, tau, (model_real)0.001));
  return 0;
}
"""


@pytest.mark.parametrize(
    'model, single', [('four_bar', False), ('four_bar', True), ('exo', False)]
)
def test_exported_code_is_the_core(model, single, tmp_path):
    robot = ccd.load(model)
    operations = ccd.codegen.export(robot, tmp_path, single=single)
    assert operations['forward_dynamics'] > 100
    rng = np.random.default_rng(2)
    q = ccd.assemble(robot)
    v = ccd.complete_velocity(robot, q, 0.3 * rng.normal(size=robot.nv))
    a = ccd.complete_acceleration(robot, q, v, rng.normal(size=robot.nv))
    tau = rng.normal(size=len(robot.actuator_names))
    (tmp_path / 'harness.c').write_text(HARNESS)
    program = tmp_path / 'harness'
    # a large model with every check and optimised takes ten seconds; what is undefined, and what
    # compilers warn of, the small ones show: they are written by the same lines
    checks = ['-O0', *SANITIZED_MEMORY] if model == 'exo' else ['-O1', *SANITIZED]
    command = [find_compiler().path, *STRICT, *checks, f'-DSTEPS={STEPS}']
    command += ['-o', str(program)]
    joint = ccd.coordinates(robot, q).dependent[0].split(':')[0]
    command.append(f'-DLOOSE={robot.joint_slices(joint)[0].start}')
    subprocess.run(
        [*command, str(tmp_path / 'model.c'), str(tmp_path / 'harness.c'), '-lm'], check=True
    )
    given = ' '.join(repr(float(x)) for x in np.concatenate([q, v, a, tau]))
    done = subprocess.run([program], input=given, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    sim = ccd.Simulation(robot.copy(), q=q, v=v, dt=1e-3, integrator='rk4')
    for _ in range(STEPS):
        sim.step(tau)
    expected = {
        1: ccd.forward_dynamics(robot, q, v, tau).acceleration,
        3: ccd.inverse_dynamics(robot, q, v, a).tau_A,
        4: sim.q,
        5: sim.v,
    }
    assert lines[0] == lines[2] == '0'
    for line, values in expected.items():
        found = np.array(lines[line].split(), dtype=float)
        error = np.abs(found - values).max() / np.abs(values).max()
        assert error < TOLERANCE[single] * (10 if line > 3 else 1)
    assert lines[6:] == ['3', '1', '1']  # open, not finite, not finite


@pytest.mark.parametrize('single', [False, True])
def test_no_function_is_there_for_nothing(single, tmp_path):
    """Clang warns of a function that nothing calls, also of an inline one."""
    ccd.codegen.export(ccd.load('four_bar'), tmp_path, single=single)
    text = (tmp_path / 'model.c').read_text()
    defined = re.findall(r'^static [\w ]*?(\w+)\(', text, re.MULTILINE)
    assert 'forward_dynamics' in defined
    assert [each for each in defined if text.count(f'{each}(') == defined.count(each)] == []
    clang = shutil.which('clang')
    if clang is not None:
        warned = [*STRICT, '-fsyntax-only', str(tmp_path / 'model.c')]
        subprocess.run([clang, *warned], check=True)


def test_the_example_holds_the_mechanism_still(tmp_path, capsys):
    assert main(['export', 'four_bar', str(tmp_path / 'out'), '--json']) == 0
    report = json.loads(capsys.readouterr().out)
    assert report['files'] == ['model.h', 'model.c', 'CMakeLists.txt', 'control_loop.c']
    if shutil.which('cmake') is None:
        pytest.skip('cmake is not installed')
    build = tmp_path / 'build'
    subprocess.run(['cmake', '-S', tmp_path / 'out', '-B', build], check=True, capture_output=True)
    subprocess.run(['cmake', '--build', build], check=True, capture_output=True)
    told = subprocess.run([build / 'control_loop'], capture_output=True, text=True, check=True)
    drift = [float(line.split()[-1]) for line in told.stdout.splitlines() if 'drift' in line]
    assert drift and max(map(abs, drift)) < 1e-9
    assert '2000 turns' in told.stdout


def test_the_code_has_no_allocation_and_no_state(tmp_path):
    ccd.codegen.export(ccd.load('four_bar'), tmp_path)
    compiler = find_compiler().path
    model = tmp_path / 'model.o'
    subprocess.run([compiler, *STRICT, '-O1', '-c', '-o', model, tmp_path / 'model.c'], check=True)
    symbols = subprocess.run(['nm', model], capture_output=True, text=True, check=True).stdout
    kinds = {line.split()[-1]: line.split()[-2] for line in symbols.splitlines()}
    assert not {name for name, kind in kinds.items() if kind in 'bBdDcC'}  # writable data
    wanted = {name for name, kind in kinds.items() if kind == 'U'} - {'_GLOBAL_OFFSET_TABLE_'}
    assert wanted <= {'sin', 'cos', 'sincos', 'sqrt', 'tanh', 'atan2', '__stack_chk_fail'}


def test_a_folder_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / 'file').write_text('')
    with pytest.raises(ccd.GenerationError, match='cannot be written'):
        ccd.codegen.export(ccd.load('four_bar'), tmp_path / 'file')
