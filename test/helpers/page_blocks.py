"""The blocks of code in the pages of the documentation."""

from pathlib import Path
import re

DOCS = Path(__file__).resolve().parents[2] / 'docs'

FENCE = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.DOTALL | re.MULTILINE)


def blocks(page):
    """Return (kind, title, text) of every block of a page."""
    return FENCE.findall(page.read_text(encoding='utf-8'))
