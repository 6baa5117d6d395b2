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

"""What all tests share: reproducible properties, their order, models of other projects."""

import gc
import logging
import os
import signal
import sys

# Bytecode is kept, also where the environment asks Python to write none: else each of the many
# programs that tests start compiles all of the package again, and each worker all of the tests.
sys.dont_write_bytecode = False
os.environ.pop('PYTHONDONTWRITEBYTECODE', None)
# Each worker has a core: threads of BLAS would wait for each other in loops that take another's.
os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')

from helpers.logged_runs import all_kinds_run, four_bar_run, torn_run  # noqa: E402
from hypothesis import settings  # noqa: E402
import pytest  # noqa: E402

# Compiling a kernel would break any deadline, and a failure must come back when it is run again.
settings.register_profile('reproducible', deadline=None, derandomize=True)
settings.load_profile('reproducible')
# A shell that starts the tests in the background tells them to ignore Ctrl-C, and programs that
# they start inherit that; tests press it.
signal.signal(signal.SIGINT, signal.default_int_handler)
# Rooms whose files take long come first: at the end no worker is left alone with one of them.
FIRST = ('kernels', 'docs', 'ros', 'viewer', 'cli', 'codegen', 'studies', 'symbolic', 'simulation')
# Long tests that share nothing within their file: they go to whoever is free, one by one.
ONE_BY_ONE = ('test_compiling.py', 'test_every_block_of_a_page', 'test_an_example_runs')


def pytest_runtest_setup():
    """Let warnings of the package be heard, whatever a library did to all loggers meanwhile."""
    logging.disable(logging.NOTSET)
    logging.getLogger('closed_chain_dynamics').disabled = False


def pytest_collection_modifyitems(items):
    """Sort the tests by room."""
    order = {room: k for k, room in enumerate(FIRST)}
    items.sort(key=lambda item: order.get(item.path.parent.name, len(FIRST)))


def pytest_collection_finish():
    """Let the garbage collector pass over what stays until the end: modules, tests, types."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)  # without pytest-xdist nobody asks
def pytest_xdist_make_scheduler(config, log):
    """Give each worker a file at a time: fixtures are shared, a crash takes no other file down."""
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid):
            alone = any(each in nodeid for each in ONE_BY_ONE)
            return nodeid if alone else super()._split_scope(nodeid)

    config.option.loadscopereorder = False  # else files of few tests, which take long, come last
    return Scheduling(config, log)


@pytest.fixture(scope='session')
def log():
    """Return the log of a four-bar whose loop opens and closes."""
    return four_bar_run()


@pytest.fixture(scope='session')
def torn():
    """Return the log of a four-bar that is torn apart at a joint of its tree."""
    return torn_run()


@pytest.fixture(scope='session')
def all_kinds():
    """Return the log of a mechanism with every kind of joint."""
    return all_kinds_run()
