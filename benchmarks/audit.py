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
Known weaknesses of what is installed: .venv/audit/bin/python benchmarks/audit.py FOLDER.

pip-audit calls a package that its index does not know skipped, and is content. Here that is a
failure where it is most of them: then nobody was asked.
"""

import json
import subprocess
import sys

MOST_SKIPPED = 0.5  # share of packages: the few that are built here are on no index


def main(folder):
    """Ask, and return the exit code."""
    command = [sys.executable, '-m', 'pip_audit', '--progress-spinner', 'off', '--format', 'json']
    asked = subprocess.run([*command, '--path', folder], stdout=subprocess.PIPE, text=True)
    try:
        packages = json.loads(asked.stdout)['dependencies']
    except (ValueError, KeyError):
        print('pip-audit has no answer: it needs pypi.org.', file=sys.stderr)
        return 1
    skipped = [each for each in packages if 'skip_reason' in each]
    weak = [each for each in packages if each.get('vulns')]
    for each in weak:
        for found in each['vulns']:
            mended = ', '.join(found['fix_versions']) or 'no version yet'
            print(f'{each["name"]} {each["version"]}: {found["id"]}, mended in {mended}')
    looked = len(packages) - len(skipped)
    print(f'{looked} packages were looked at, {len(skipped)} are not known, {len(weak)} are weak.')
    if len(skipped) > MOST_SKIPPED * len(packages):
        print('The index here does not say what is weak; ask pypi.org itself.', file=sys.stderr)
        return 1
    return 1 if weak else 0


if __name__ == '__main__':
    raise SystemExit(main(sys.argv[1]))
