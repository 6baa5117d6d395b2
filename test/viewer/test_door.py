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

"""A view for other computers: only who has the token gets in."""

from contextlib import suppress
import http.client
import socket
import threading
from urllib.parse import urlsplit

import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics import viewer
from closed_chain_dynamics.viewer.door import ENTER, MOST_HEAD_BYTES, Door

OTHER = '127.0.0.2'  # this machine, by an address that is not the usual one
PATIENCE = 300.0  # only what is broken takes as long, on a machine however busy [s]


def asked(port, path='/', **headers):
    """Return status, headers and text of a request."""
    line = http.client.HTTPConnection(OTHER, port, timeout=PATIENCE)
    try:
        line.request('GET', path, headers={'Host': f'{OTHER}:{port}', **headers})
        answer = line.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()
    finally:
        line.close()


@pytest.fixture
def door():
    """Return a door with a server behind it that answers everything with what it was asked."""
    inside = socket.create_server(('127.0.0.1', 0))

    def serve():
        while True:
            try:
                line, _ = inside.accept()
            except OSError:
                return
            with line:
                head = line.recv(65536)
                line.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n' % len(head) + head)

    threading.Thread(target=serve, daemon=True).start()
    with socket.socket() as free:
        free.bind((OTHER, 0))
        port = free.getsockname()[1]
    made = Door(OTHER, port, inside.getsockname()[1])
    made.port = port
    yield made
    made.close()
    inside.close()


def test_without_the_token_nothing_is_passed_on(door):
    wrong = f'closed_chain_view_{door.port}='
    for path, headers in (
        ('/', {}),
        ('/?token=', {}),
        ('/?token=guess', {}),
        (f'/?token={door.token[:-1]}', {}),
        ('/', {'Cookie': f'{wrong}guess'}),
        ('/', {'Cookie': f'other={door.token}'}),
        ('/', {'Cookie': '\x01=;;;'}),
        ('/', {'Upgrade': 'websocket', 'Connection': 'Upgrade'}),
    ):
        status, _, text = asked(door.port, path, **headers)
        assert (status, text.decode()) == (403, ENTER), (path, headers)


def test_the_token_becomes_a_cookie_that_lets_in(door):
    status, headers, _ = asked(door.port, f'/?token={door.token}')
    assert status == 303 and headers['Location'] == '/'
    cookie = headers['Set-Cookie']
    assert 'HttpOnly' in cookie and 'SameSite=Strict' in cookie
    status, _, text = asked(door.port, Cookie=cookie.split(';')[0])
    assert status == 200
    assert door.token.encode() not in text, 'what is behind the door does not need it'


def test_a_page_from_elsewhere_is_refused_although_the_browser_has_the_cookie(door):
    cookie = f'closed_chain_view_{door.port}={door.token}'
    status, _, _ = asked(door.port, Cookie=cookie, Origin='http://elsewhere.example')
    assert status == 403
    status, _, text = asked(door.port, Cookie=cookie, Origin=f'http://{OTHER}:{door.port}')
    assert status == 200 and b'Origin' not in text


def test_what_is_no_request_is_refused(door):
    for words in (b'\r\n\r\n', b'\x16\x03\x01\x02\x00\r\n\r\n', b'GET'):
        with socket.create_connection((OTHER, door.port), timeout=PATIENCE) as line:
            line.sendall(words)
            line.shutdown(socket.SHUT_WR)
            assert line.recv(100).startswith(b'HTTP/1.1 40')
    with socket.create_connection((OTHER, door.port), timeout=PATIENCE) as line:
        with suppress(ConnectionError):  # it need not listen to the end, nor we get its answer
            line.sendall(b'x' * (4 * MOST_HEAD_BYTES))
            assert line.recv(100)[:11] in (b'HTTP/1.1 40', b'')
    assert asked(door.port)[0] == 403, 'it goes on'


def test_a_view_on_another_address_opens_with_its_token_alone():
    viser = pytest.importorskip('viser')
    from websockets.exceptions import InvalidStatus
    from websockets.sync.client import connect

    view = viewer.open_view(viewer.ModelSource(ccd.load('pendulum')), port=0, host=OTHER)
    try:
        address = urlsplit(view.address)
        assert address.hostname == OTHER and 'token' not in view.place
        assert asked(address.port)[0] == 403
        assert asked(address.port, '/?token=guess')[0] == 403
        _, headers, _ = asked(address.port, f'/?{address.query}')
        status, _, page = asked(address.port, Cookie=headers['Set-Cookie'].split(';')[0])
        assert status == 200 and b'<html' in page
        cookie = headers['Set-Cookie'].split(';')[0]
        where, speaks = f'ws://{OTHER}:{address.port}', [f'viser-v{viser.__version__}']
        with pytest.raises(InvalidStatus, match='403'):
            connect(where, subprotocols=speaks, open_timeout=PATIENCE)
        with connect(
            where,
            subprotocols=speaks,
            open_timeout=PATIENCE,
            additional_headers={'Cookie': cookie},
            origin=f'http://{OTHER}:{address.port}',
        ) as line:
            assert line.recv(timeout=PATIENCE), 'the page is filled through the door'
        inside = view.server.get_port()
        with pytest.raises(OSError):  # the server itself is on the local host alone
            socket.create_connection((OTHER, inside), timeout=30).close()
    finally:
        view.stop()


def test_an_address_of_another_machine_is_refused():
    pytest.importorskip('viser')
    for host in ('192.0.2.1', 'no such host'):
        with pytest.raises(ccd.ClosedChainError, match='cannot be reached as'):
            viewer.open_view(viewer.ModelSource(ccd.load('pendulum')), port=0, host=host)
