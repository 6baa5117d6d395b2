"""Compiled code of the tests goes to a folder of their own."""

import pytest


@pytest.fixture(scope='session', autouse=True)
def cache_of_the_tests(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv('XDG_CACHE_HOME', str(tmp_path_factory.mktemp('cache')))
        yield
