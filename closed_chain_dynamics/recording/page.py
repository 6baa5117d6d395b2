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

"""One HTML file with tables and figures, without any script or file beside it."""

from base64 import b64encode
from collections.abc import Iterable
from html import escape
from typing import Any

from closed_chain_dynamics.recording.log_files import Path, writing

__all__ = ['write_page']


def write_page(path: Path, title: str, body: str, figures: Iterable[tuple[str, Any]] = ()) -> None:
    """Write one HTML file: what `shown` gave, then figures with their headings, all within it."""
    parts = ['<!doctype html><html lang="en"><meta charset="utf-8">']
    parts.append(f'<title>{escape(title)}</title><style>')
    parts.append('body{font:15px system-ui;max-width:72em;margin:2em auto;padding:0 1em}')
    parts.append('table{border-collapse:collapse;margin:.6em 0}td,th{padding:.15em .8em .15em 0}')
    parts.append(f'img{{max-width:100%}}</style>{body}')
    for heading, figure in figures:
        picture = b64encode(figure._repr_png_()).decode()
        parts.append(f'<h2>{escape(heading)}</h2>')
        parts.append(f'<img alt="{escape(heading)}" src="data:image/png;base64,{picture}">')
    with writing(path), open(path, 'w', encoding='utf-8') as file:
        file.write('\n'.join([*parts, '</html>\n']))
