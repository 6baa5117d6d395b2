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
A door in front of a view for other computers: who has no token gets nothing.

The server of the view listens on this machine alone and knows no passwords. The door listens on
the network, and passes on what comes with the token of the address, or with the cookie that this
was turned into; pages from elsewhere are refused as well. It does not encipher: where others can
listen, use a tunnel or a proxy with TLS.
"""

import asyncio
from collections.abc import Coroutine
import contextlib
from http.cookies import CookieError, SimpleCookie
import secrets
import threading
from typing import Any
from urllib.parse import parse_qs, urlsplit

__all__ = ['HOST', 'Door']

HOST = '127.0.0.1'  # this machine alone
MOST_HEAD_BYTES = 2**14  # of the head of a request
HEAD_PATIENCE = 10.0  # for the head of a request [s]
BYTES_AT_ONCE = 2**16  # bytes that are passed on
ENTER = 'Open the address with its token, as the program has printed it.\n'


class Door:
    """Listens on (host, port) and passes on to a port of this machine; `token` opens it."""

    def __init__(self, host: str, port: int, inside: int) -> None:
        self.token, self._inside = secrets.token_urlsafe(24), inside
        self._loop = asyncio.new_event_loop()
        self._cookie = f'closed_chain_view_{port}'
        self._server = self._loop.run_until_complete(
            asyncio.start_server(self._serve, host, port, limit=MOST_HEAD_BYTES)
        )
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Listen no more, and cut all lines."""
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(HEAD_PATIENCE)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(HEAD_PATIENCE)

    async def _end(self) -> None:
        self._server.close()
        here = asyncio.current_task()
        for task in asyncio.all_tasks():
            if task is not here:
                task.cancel()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.CancelledError):
            try:
                head = await asyncio.wait_for(reader.readuntil(b'\r\n\r\n'), HEAD_PATIENCE)
                answer = self._judge(head)
            except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, asyncio.TimeoutError):
                answer = _answer('400 Bad Request', 'This is no request.\n')
            if isinstance(answer, bytes):
                writer.write(answer)
                await writer.drain()
            else:
                await self._pass_on(
                    '\r\n'.join([*answer, '', '']).encode('latin-1'), reader, writer
                )
        writer.close()

    def _judge(self, head: bytes) -> bytes | list[str]:
        """Return the answer to a request, or the lines of its head to be passed on."""
        first, *lines = head.decode('latin-1').split('\r\n')[:-2]
        fields = {
            name.strip().lower(): value.strip()
            for name, _, value in (line.partition(':') for line in lines)
        }
        target = first.split(' ')[1] if first.count(' ') == 2 else '/'
        try:
            given = parse_qs(urlsplit(target).query).get('token', [''])[0]
            jar = SimpleCookie(fields.get('cookie', ''))
            origin = urlsplit(fields.get('origin', '')).netloc
        except (CookieError, ValueError):
            return _answer('400 Bad Request', 'This is no request.\n')
        if self._is_token(given):
            cookie = f'{self._cookie}={self.token}; HttpOnly; SameSite=Strict; Path=/'
            return _answer('303 See Other', '', f'Location: /\r\nSet-Cookie: {cookie}\r\n')
        kept = jar.get(self._cookie)
        if kept is None or not self._is_token(kept.value):
            return _answer('403 Forbidden', ENTER)
        if fields.get('origin') is not None and origin != fields.get('host'):
            return _answer('403 Forbidden', 'Only pages of this view may connect.\n')
        changed = ('host', 'origin', 'cookie')
        passed = [line for line in lines if line.partition(':')[0].strip().lower() not in changed]
        return [first, f'Host: {HOST}:{self._inside}', *passed]

    def _is_token(self, text: str) -> bool:
        return secrets.compare_digest(text.encode('utf-8', 'replace'), self.token.encode())

    async def _pass_on(
        self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        inner_reader, inner_writer = await asyncio.open_connection(HOST, self._inside)
        inner_writer.write(head)
        ways: list[Coroutine[Any, Any, None]] = [
            _copy(reader, inner_writer),
            _copy(inner_reader, writer),
        ]
        tasks = [asyncio.ensure_future(each) for each in ways]
        try:  # one request is one line: what follows on it was let in as well
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            inner_writer.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(BYTES_AT_ONCE):
            writer.write(data)
            await writer.drain()


def _answer(status: str, text: str, more: str = '') -> bytes:
    body = text.encode()
    return (
        f'HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\n{more}'
        f'Content-Length: {len(body)}\r\nConnection: close\r\n\r\n'
    ).encode() + body
