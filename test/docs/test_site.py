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

"""The site that `make docs` builds: complete, readable from disk, independent of other hosts."""

import os
import re
import shutil
import subprocess
import sys

from helpers.page_blocks import DOCS
import pytest

from closed_chain_dynamics.cli.main import COMMANDS

PAGES = sorted((DOCS / 'pages').glob('*.md'))
TELEPHONE = 400  # pixels across
PATIENCE = 300e3  # only what is broken takes as long, on a machine however busy [ms]


@pytest.fixture(scope='module')
def built(tmp_path_factory):
    """Return the folder of a site, and the warnings of its build; one page has a wrong link."""
    pytest.importorskip('material', reason='mkdocs-material is not installed')
    pytest.importorskip('latex2mathml', reason='latex2mathml is not installed')
    folder = tmp_path_factory.mktemp('site')
    shutil.copytree(DOCS, folder / 'docs')
    with open(folder / 'docs' / 'pages' / 'limits.md', 'a') as page:
        page.write('\n\n[there](tags.md#nowhere)\n')
    config = ['--config-file', folder / 'docs' / 'mkdocs.yml']
    done = subprocess.run(
        [sys.executable, '-m', 'mkdocs', 'build', '--site-dir', folder / 'html', *config],
        capture_output=True,
        text=True,
        env={**os.environ, 'NO_MKDOCS_2_WARNING': '1'},
    )
    assert done.returncode == 1, done.stdout + done.stderr  # strict, once all is written
    said = (done.stdout + done.stderr).splitlines()
    return folder / 'html', [line for line in said if line and not line.startswith('INFO')]


@pytest.fixture(scope='module')
def site(built):
    return built[0]


def test_a_link_that_leads_nowhere_stops_the_build_and_nothing_else_would(built):
    aborted, warning = sorted(built[1])
    assert warning.startswith('WARNING') and '#nowhere' in warning
    assert aborted == 'Aborted with 1 warnings in strict mode!'


def test_the_site_is_built_with_every_page(site):
    assert {page.stem for page in PAGES} <= {path.stem for path in site.glob('*.html')}


def test_every_command_has_a_page_with_its_own_options(site):
    for name in COMMANDS:
        text = (site / f'command_{name}.html').read_text(encoding='utf-8')
        assert f'usage: closed-chain {name}' in text and '<code>--json</code>' in text
    lists = {'convert': '.urdf', 'derive': 'te', 'study': 'map'}
    for name, entry in lists.items():  # a row each, not lines that run into one paragraph
        assert f'<td><code>{entry}</code></td>' in (site / f'command_{name}.html').read_text()


@pytest.fixture
def browser():
    """Return a browser, where one is installed."""
    playwright = pytest.importorskip('playwright.sync_api', reason='pip install playwright')
    program = shutil.which('chromium') or shutil.which('google-chrome')
    if program is None:
        pytest.skip('no Chromium here: apt-get install chromium')
    with playwright.sync_playwright() as tools:
        browser = tools.chromium.launch(
            executable_path=program, args=['--no-sandbox'], timeout=PATIENCE
        )
        yield browser
        browser.close()


def new_page(browser, **options):
    """Return a page that waits as long as a busy machine takes."""
    page = browser.new_page(**options)
    page.set_default_timeout(PATIENCE)
    return page


def test_the_page_that_is_not_found_has_styles_and_links_when_opened_from_disk(site, browser):
    page = new_page(browser)
    page.goto((site / '404.html').as_uri())
    assert page.evaluate('document.styleSheets.length') >= 3
    links = page.locator('nav a.md-nav__link[href]').evaluate_all('all => all.map(a => a.href)')
    assert (site / 'tutorial.html').as_uri() in links


def test_equations_are_those_of_authors_not_of_numbered_papers(site):
    for path in site.glob('*.html'):
        assert not re.search(r'\bpapers? \d', path.read_text(encoding='utf-8')), path.name


def test_search_works_in_a_site_that_is_opened_from_disk(site, browser):
    page = new_page(browser)
    page.goto((site / 'index.html').as_uri())
    page.locator('input[name=query]').click()
    page.keyboard.type('redundant')
    first = page.locator('.md-search-result__link').first
    first.wait_for()
    assert first.get_attribute('href')


def test_no_equation_is_wider_than_the_screen_of_a_telephone(site, browser):
    page = new_page(browser, viewport={'width': TELEPHONE, 'height': 860})
    pages = [each for each in site.glob('*.html') if 'display="block"' in each.read_text('utf-8')]
    assert 'symbolic.html' in {each.name for each in pages}
    for path in pages:
        page.goto(path.as_uri(), wait_until='domcontentloaded')
        assert page.evaluate('document.documentElement.scrollWidth') <= TELEPHONE, path.name


def test_the_pages_ask_nothing_of_other_hosts(site):
    outside = re.compile(
        r'<(?:script|link|img|iframe|source|video|audio)\b[^>]*'
        r'(?:src|href)="?(?:https?:)?//',
        re.IGNORECASE,
    )
    for path in site.rglob('*.html'):
        assert not outside.search(path.read_text(encoding='utf-8')), path.name
    for path in site.rglob('*.css'):
        assert not re.search(r'(?:url\(|@import)["\' ]*(?:https?:)?//', path.read_text()), path


def test_equations_are_in_the_pages_themselves(site):
    text = (site / 'theory.html').read_text(encoding='utf-8')
    assert text.count('<math') > 20 and 'arithmatex' not in text


def test_bars_of_a_magnitude_stand_close_to_it(site):
    text = (site / 'theory.html').read_text(encoding='utf-8')
    bars = re.findall(r'<mo[^>]*>(?:\||&#x0007C;)</mo>', text)
    assert bars and all('lspace="0" rspace="0"' in bar for bar in bars)


def test_results_have_what_they_inherit_and_mechanisms_what_a_user_calls(site):
    dynamics, models, glance = (
        (site / f'{page}.html').read_text(encoding='utf-8').replace('<wbr>', '')
        for page in ('api_dynamics', 'api_models', 'python')
    )
    member = r'<h3 id="closed_chain_dynamics\.public\.(\w+)\.(\w+)"'
    assert {('InverseDynamics', 'q'), ('InverseDynamics', 'coordinates')} <= {
        *re.findall(member, dynamics)
    }
    own = [name for owner, name in re.findall(member, models) if owner == 'Mechanism']
    assert {'connect', 'cut', 'neutral', 'save'} <= set(own)
    assert [name for name in own if not re.search(rf'<code>(robot\.)?{name}\b', glance)] == []
