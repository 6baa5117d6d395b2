"""What the README promises works when it is typed as it stands there."""

import pathlib
import re
import subprocess
import sys

README = pathlib.Path(__file__).resolve().parents[1] / 'README.md'


def test_the_python_of_the_readme_runs_and_names_the_torque(tmp_path):
    code = re.search(r'```python\n(.*?)```', README.read_text(encoding='utf-8'), re.DOTALL)[1]
    run = subprocess.run([sys.executable, '-c', code], cwd=tmp_path, capture_output=True,
                         text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    assert 'Mobility 1' in run.stdout and "{'crank': " in run.stdout
