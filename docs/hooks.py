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
What MkDocs does besides: pictures, equations as MathML, and a page for every command.

The pages of the commands are their own help, written when the site is built.
"""

import argparse
import html
from pathlib import Path
import re
import textwrap

from latex2mathml.converter import convert
from mkdocs.structure.files import File

from closed_chain_dynamics.cli.main import COMMANDS, _parser as command_parser

PICTURES = Path(__file__).resolve().parent / 'pictures'
EQUATION = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)
BAR = '<mo stretchy="false">&#x0007C;</mo>'  # of a magnitude; browsers set it apart as a relation
CLOSE_BAR = BAR.replace('>', ' lspace="0" rspace="0">', 1)
CELL = re.compile(r'<td[ >].*?</td>', re.DOTALL)
LONG = re.compile(r'[^\s<>]{20,}')  # names that are longer than a narrow column
PART = re.compile(r'[/_.,(=]|::|(?<=[a-z])(?=[A-Z])')  # where they may break
NAMED = re.compile(r' *(\S+) {2,}((?:\S| (?! ))+)')  # a name and, in a second column, its meaning
COMMAND_LINE = 'Command line'  # the entry of the navigation that the commands stand below


def on_config(config):
    """List the pages of the commands in the navigation."""
    pages = [{f'closed-chain {name}': f'command_{name}.md'} for name in COMMANDS]
    (entry,) = [each for group in config.nav for each in _below(group) if COMMAND_LINE in each]
    entry[COMMAND_LINE] = [entry[COMMAND_LINE], *pages]
    return config


def _below(group):
    """Return the entries of a group of the navigation that have titles."""
    (entries,) = group.values()
    return (
        [each for each in entries if isinstance(each, dict)] if isinstance(entries, list) else []
    )


def on_files(files, config):
    """Add docs/pictures, where the README finds them too, and the pages of the commands."""
    for path in sorted(each for each in PICTURES.rglob('*') if each.is_file()):
        name = path.relative_to(PICTURES.parent).as_posix()
        files.append(File.generated(config, name, abs_src_path=str(path)))
    commands = _commands(command_parser())
    for name in COMMANDS:
        text = _page(f'closed-chain {name}', commands[name])
        files.append(File.generated(config, f'command_{name}.md', content=text))
    return files


def on_template_context(context, **_):
    """Let pages without a source, 404.html, find styles and links beside them."""
    context['base_url'] = '.'
    return context


def on_page_content(content, **_):
    """Turn LaTeX into MathML, which browsers show without a script; let long names break well."""
    return CELL.sub(_breakable, EQUATION.sub(_mathml, content))


def _breakable(cell):
    """Return a cell of a table whose long names may break between their parts."""

    def parted(code):
        return LONG.sub(lambda name: PART.sub(r'\g<0><wbr>', name[0]), code[0])

    return re.sub(r'(?<=<code>)[^<]+(?=</code>)', parted, cell[0])


def _mathml(match):
    tag, latex = match.groups()
    display = 'inline' if tag == 'span' else 'block'
    block = convert(html.unescape(latex).strip(), display=display).replace(BAR, CLOSE_BAR)
    if tag == 'span':
        return block
    # in a narrow window a long equation is scrolled, and not the page
    return f'<div style="overflow-x: auto; overflow-y: hidden; padding: 0.2em 0">{block}</div>'


def _commands(parser):
    """Return the parsers of the commands below a parser, by name."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return action.choices
    return {}


def _page(title, parser, level=1):
    """Return the help of a command, and of those below it, as Markdown."""
    parts = [f'{"#" * level} {title}', _text('usage: ' + parser.format_usage()[7:])]
    parts += [_paragraph(each) for each in (parser.description or '').split('\n\n')]
    parts.append(_options(parser))
    parts += [_text(parser.epilog or '')] * bool(parser.epilog)
    for name, child in _commands(parser).items():
        parts.append(_page(f'{title} {name}', child, level + 1))
    return '\n\n'.join(parts) + '\n'


def _paragraph(text):
    """Return a paragraph of a help: prose, a list of names with meanings, or a block as it is."""
    if '  ' not in text:
        return html.escape(text, quote=False)
    entries = re.sub(r'\n {4,}', ' ', text).splitlines()  # continued lines are indented
    rows = [NAMED.fullmatch(each) for each in entries]
    return _table('', '', (row.groups() for row in rows)) if all(rows) else _text(text)


def _table(head, other, rows):
    """Return a table of code and its meaning: it fits a narrow window, unlike the plain help."""
    lines = [f'| {head} | {other} |', '| --- | --- |']
    for code, meaning in rows:
        text = html.escape(meaning, quote=False).replace('|', '\\|')
        lines.append(f'| `{code}` | {text} |')
    return '\n'.join(lines)


def _text(text):
    """Return a block that is shown as it stands."""
    return f'```text\n{textwrap.dedent(text).strip()}\n```'


def _options(parser):
    """Return a table of all arguments, those without a dash first."""
    write = argparse.HelpFormatter(parser.prog)
    shown = [
        action
        for action in sorted(parser._actions, key=lambda each: bool(each.option_strings))
        if action.help != argparse.SUPPRESS and not isinstance(action, argparse._SubParsersAction)
    ]
    rows = ((write._format_action_invocation(each), write._expand_help(each)) for each in shown)
    return _table('argument', 'meaning', rows)
