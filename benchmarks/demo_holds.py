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
Runs the demonstration with a browser open for some minutes, and counts what must not happen.

    python benchmarks/demo_holds.py --minutes 10 --busy 2

Counted are fallbacks of torque_node, refused grips and starts over; `--busy` keeps that many cores
busy beside it. The last lines are what `closed-chain up` sums up: rates, real-time factor, exit
codes. Needs Chromium and Playwright, as the tests of the view do.
"""

import argparse
from collections import Counter
from contextlib import contextmanager
import json
from pathlib import Path
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / 'test')]

from diagnostic_msgs.msg import DiagnosticArray  # noqa: E402
from helpers.browser_helpers import BROWSERS, opened, playwright  # noqa: E402
from helpers.ros_helpers import own_domain  # noqa: E402
from std_msgs.msg import String  # noqa: E402

MARK = 'Look at it: '


def parse():
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument('--minutes', type=float, default=10.0)
    parser.add_argument('--busy', type=int, default=0, help='cores that are kept busy beside it')
    return parser.parse_args()


@contextmanager
def cores_kept_busy(number):
    """Keep cores busy meanwhile, each by an endless loop."""
    loops = [subprocess.Popen([sys.executable, '-c', 'while True: pass']) for _ in range(number)]
    try:
        yield loops
    finally:
        for each in loops:
            each.kill()
            each.wait()


def watch(ros, chromium, minutes):
    """Run the demonstration; return its process and what was counted."""
    events = ros.listen(String, 'contact/events', 1000)
    said = ros.listen(DiagnosticArray, 'diagnostics', 1000)
    process = ros.run('closed_chain_dynamics.cli', 'up', 'swing', '--demo', '--port', '0')
    ros.wait(lambda: MARK in process.output(), 'the address')
    address = process.output().partition(MARK)[2].split()[0]
    counts, driven, end = Counter(), False, time.monotonic() + 60.0 * minutes
    with opened(chromium, address) as page:
        page.get_by_text('real-time factor').wait_for()
        while time.monotonic() < end and process.is_running():
            ros.spin(1.0)
            for status in (each for array in said for each in array.status):
                if status.name == 'torque_node':
                    driven = driven or 'computed_torque of' in status.message
                    counts['fallback'] += driven and 'fallback' in status.message
            counts.update(json.loads(each.data)['kind'] for each in events)
            said.clear()
            events.clear()
    process.end(signal.SIGINT)
    counts['starts over'] = process.output().count('starts over')
    return process, counts


def main():
    arguments = parse()
    program = next(filter(None, map(shutil.which, BROWSERS)))
    with playwright.sync_playwright() as tools, cores_kept_busy(arguments.busy):
        chromium = tools.chromium.launch(
            executable_path=program,
            args=['--no-sandbox', '--use-angle=swiftshader', '--enable-unsafe-swiftshader'],
        )
        with tempfile.TemporaryDirectory() as folder, own_domain(Path(folder)) as ros:
            process, counts = watch(ros, chromium, arguments.minutes)
            print(process.output())
        chromium.close()
    print(dict(counts))
    bad = counts['fallback'] + counts['refused'] + counts['starts over']
    return 0 if process.wait() == 0 and not bad and counts['connect'] else 1


if __name__ == '__main__':
    sys.exit(main())
