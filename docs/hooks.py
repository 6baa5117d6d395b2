"""What MkDocs does besides: pictures of the folder beside the pages, and equations as MathML."""

import html
from pathlib import Path
import re

from latex2mathml.converter import convert
from mkdocs.structure.files import File

PICTURES = Path(__file__).resolve().parent / 'pictures'
EQUATION = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)


def on_files(files, config):
    """Add docs/pictures, where the README finds them too, to the site."""
    for path in sorted(each for each in PICTURES.rglob('*') if each.is_file()):
        name = path.relative_to(PICTURES.parent).as_posix()
        files.append(File.generated(config, name, abs_src_path=str(path)))
    return files


def on_page_content(content, **_):
    """Turn LaTeX into MathML, which browsers show without a script."""
    return EQUATION.sub(_mathml, content)


def _mathml(match):
    tag, latex = match.groups()
    return convert(html.unescape(latex).strip(), display='block' if tag == 'div' else 'inline')
