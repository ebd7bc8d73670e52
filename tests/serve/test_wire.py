"""Clients that take their time, or speak something else: bounds on a connection."""

from __future__ import annotations

import json
import socket
import time
from contextlib import contextmanager

import pytest
from served import WAIT_S, served

from vedette.backends.none import NoModel
from vedette.serve import wire
from vedette.serve.app import create_app
from vedette.serve.options import ServeOptions

HEAD = b"POST /v1/models HTTP/1.1\r\nHost: localhost\r\n"


@pytest.fixture(scope="module")
def port():
    """A server that waits only shortly."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wire.Connection, "read_s", 0.2)
        patch.setattr(wire, "LINGER_S", 0.2)
        options = ServeOptions(model="none", read_s=0.2, max_body_bytes=100)
        with served(create_app(NoModel(), options)) as url:
            yield int(url.rpartition(":")[2])


@contextmanager
def connected(port):
    with socket.create_connection(("127.0.0.1", port), timeout=WAIT_S) as connection:
        yield connection


def until_closed(connection) -> bytes:
    """What comes until the server closes; a reset counts as closing."""
    found = b""
    try:
        while piece := connection.recv(65536):
            found += piece
    except ConnectionResetError:
        pass
    return found


def drip(connection, piece: bytes, gap_s: float = 0.05) -> bytes:
    """Send a byte now and then, until the server answers or closes; what it said till it closed."""
    connection.settimeout(gap_s)
    give_up = time.monotonic() + WAIT_S
    found = b""
    while time.monotonic() < give_up:
        try:
            connection.sendall(piece)
            got = connection.recv(65536)
        except TimeoutError:
            continue
        except (ConnectionResetError, BrokenPipeError):
            return found
        if not got:
            return found
        found += got
    raise AssertionError("the server never closed")


def status_and_error(reply: bytes) -> tuple[int, dict]:
    head, _, body = reply.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)["error"]


def test_a_head_that_drips_in_is_ended(port):
    with connected(port) as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nX-A: ")
        status, error = status_and_error(drip(connection, b"a"))
    assert (status, error["code"]) == (408, "request_timeout")
    assert error["type"] == "invalid_request_error"


def test_a_body_that_drips_in_is_ended(port):
    with connected(port) as connection:
        connection.sendall(HEAD + b"Content-Length: 90\r\n\r\n")
        status, error = status_and_error(drip(connection, b"x"))
    assert (status, error["code"]) == (408, "request_timeout")
    assert "came too slowly" in error["message"]


def test_chunks_that_drip_in_are_ended(port):
    with connected(port) as connection:
        connection.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        status, _ = status_and_error(drip(connection, b"1\r\nx\r\n"))
    assert status == 408


def test_what_is_too_large_is_refused_before_it_is_there_and_the_rest_is_not_waited_for(port):
    with connected(port) as connection:
        connection.sendall(HEAD + b"Content-Length: 1000000\r\n\r\n")
        status, error = status_and_error(drip(connection, b"x"))
    assert (status, error["code"]) == (413, "body_too_large")


def test_a_connection_that_says_nothing_is_closed(port):
    with connected(port) as connection:
        assert until_closed(connection) == b""


@pytest.mark.parametrize(
    "nonsense",
    [
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"hello\r\n\r\n",
        b"GET / HTTP/9\r\n\r\n",
        b"\r\n" * 3 + b"\0",
    ],
)
def test_what_is_no_http_is_answered_in_the_same_form(port, nonsense):
    with connected(port) as connection:
        connection.sendall(nonsense)
        status, error = status_and_error(until_closed(connection))
    assert (status, error["code"]) == (400, "invalid_request")


def test_a_head_without_end_is_refused(port):
    with connected(port) as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\n")
        line = b"X-Long: " + b"a" * 4000 + b"\r\n"
        try:
            for _ in range(100):
                connection.sendall(line)
        except (ConnectionResetError, BrokenPipeError):
            return  # it had enough
        assert until_closed(connection)[:12] in (b"", b"HTTP/1.1 400")


def ask_on(connection, *pieces: bytes) -> bytes:
    """Send a request in pieces and wait for the whole answer."""
    for piece in pieces:
        connection.sendall(piece)
        time.sleep(0.02)
    found = b""
    while not found.endswith(b"}"):
        found += connection.recv(65536)
    return found


def test_requests_in_time_are_not_disturbed(port):
    """Several on one connection, with pauses longer than a head may take."""
    request = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with connected(port) as connection:
        for _ in range(3):
            assert b" 200 OK" in ask_on(connection, request)
            time.sleep(0.3)
        assert b" 200 OK" in ask_on(connection, request[:20], request[20:])


def test_a_second_head_that_drips_in_is_ended_too(port):
    request = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with connected(port) as connection:
        assert b" 200 OK" in ask_on(connection, request)
        connection.sendall(request[:20])
        assert b" 408 " in drip(connection, b"a")


def test_requests_sent_ahead_are_answered_in_order(port):
    with connected(port) as connection:
        for path in (b"/health", b"/nowhere", b"/health"):
            connection.sendall(b"GET " + path + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
        found = b""
        while found.count(b"HTTP/1.1") < 3 or not found.endswith(b"}"):
            found += connection.recv(65536)
    assert [part.split()[0] for part in found.split(b"HTTP/1.1 ")[1:]] == [b"200", b"404", b"200"]
