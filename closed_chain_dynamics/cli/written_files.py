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

"""Files that a command writes: each at once, or not at all."""

import argparse
from collections.abc import Callable, Mapping
import os
import tempfile

from closed_chain_dynamics.errors import ClosedChainError

__all__ = ['write_at_once', 'write_files']


def write_files(
    args: argparse.Namespace, sources: Mapping[str, Callable[[], str]]
) -> dict[str, str]:
    """Write sources, {option: function that returns a text}, that were asked for; return names."""
    texts = {option: source() for option, source in sources.items() if getattr(args, option)}
    for option, text in texts.items():
        write_at_once(getattr(args, option), text)
    return {option: getattr(args, option) for option in texts}


def write_at_once(path: str, text: str) -> None:
    """Write a file under another name first, so that an interrupt leaves no half of it."""
    folder = os.path.dirname(os.path.abspath(path))
    try:
        handle, draft = tempfile.mkstemp(dir=folder, prefix=f'.{os.path.basename(path)}.')
    except OSError as error:
        raise ClosedChainError(
            f'it cannot be written: {error.strerror}',
            file=path,
            repair='Name a file in a folder that can be written to.',
        ) from error
    try:
        with os.fdopen(handle, 'w', encoding='utf-8') as out:
            out.write(text)
        os.chmod(draft, 0o666 & ~_umask())
        os.replace(draft, path)
    except BaseException:
        os.unlink(draft)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
