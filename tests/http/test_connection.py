"""Clients that send slowly, or nothing, or too much, against a server as `run` starts it."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from http.client import HTTPConnection

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.types import Receive, Scope, Send

from renderlayer.http.middleware.body_limit import BodyLimitMiddleware
from renderlayer.http.server.address import Address
from renderlayer.http.server.ready_log import ReadyLoggingServer
from renderlayer.http.server.serve import configured
from renderlayer.settings import Settings

LIMIT = 100_000
PATIENCE = 1.0
HEAD = b"POST /echo HTTP/1.1\r\nHost: x\r\n"


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    body = await Request(scope, receive).body()
    if scope["path"] == "/slow":
        await StreamingResponse(slowly())(scope, receive, send)
    else:
        await PlainTextResponse(body)(scope, receive, send)


async def slowly() -> Iterator[bytes]:  # type: ignore[misc]
    for _ in range(4):
        await asyncio.sleep(PATIENCE / 2)
        yield b"part\n"


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    address = Address("127.0.0.1", 0)
    sockets = address.bound()
    settings = replace(Settings(), receive_timeout=PATIENCE)
    server = ReadyLoggingServer(
        configured(BodyLimitMiddleware(app, LIMIT, patience=PATIENCE), address, settings), "testing"
    )
    thread = threading.Thread(target=server.run, args=(sockets,))
    thread.start()
    while not server.started:
        threading.Event().wait(0.01)
    yield sockets[0].getsockname()[1]
    server.should_exit = True
    thread.join()


def everything(connection: socket.socket) -> bytes:
    parts = []
    with suppress(ConnectionError):
        while part := connection.recv(1 << 16):
            parts.append(part)
    return b"".join(parts)


def told(answer: bytes) -> tuple[int, str]:
    """Status and error type of an answer that ends its connection."""
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"connection: close" in head.lower()
    return int(head.split()[1]), json.loads(body)["error"]["type"]


LATE = (408, "RequestTimeoutError")
UNFINISHED = {
    "request line": b"POST /ec",
    "head": HEAD,
    "body": HEAD + b"Content-Length: 5\r\n\r\n{",
    "chunks": HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n",
    "too much": HEAD + b"Content-Length: 100001\r\n\r\n{",
    "nothing": b"",
}


def test_what_does_not_come_to_its_end_is_answered(port: int) -> None:
    with ExitStack() as stack:
        connections = {}
        for name, sent in UNFINISHED.items():
            connections[name] = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60))
            connections[name].sendall(sent)
        answers = {name: everything(connection) for name, connection in connections.items()}
    assert answers.pop("nothing") == b""  # clients open connections before they need them
    assert told(answers.pop("too much")) == (413, "PayloadTooLargeError")
    assert {name: told(answer) for name, answer in answers.items()} == dict.fromkeys(answers, LATE)


@pytest.mark.parametrize("head", [b"POST /echo HTTP/1.1\r\nX: ", HEAD + b"Content-Length: 99999\r\n\r\n"])
def test_dribbling_does_not_help(port: int, head: bytes) -> None:
    """A byte at a time, never a pause as long as the limit."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        over = threading.Event()

        def dribble() -> None:
            with suppress(OSError):
                connection.sendall(head)
                while not over.wait(PATIENCE / 10):
                    connection.sendall(b"x")

        sender = threading.Thread(target=dribble)
        sender.start()
        answer = everything(connection)
        over.set()
        sender.join()
    assert told(answer) == LATE


def test_too_much_is_refused_before_the_rest_has_come_and_its_sender_can_finish(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(HEAD + b"Content-Length: 300000\r\n\r\n{")
        first = connection.recv(12)
        connection.sendall(bytes(299_999))
        assert told(first + everything(connection)) == (413, "PayloadTooLargeError")


def test_answers_may_take_longer_and_connections_are_used_again(port: int) -> None:
    client = HTTPConnection("127.0.0.1", port, timeout=60)
    for _ in range(2):
        client.request("POST", "/slow", b"{}")
        assert client.getresponse().read() == b"part\n" * 4
        client.request("POST", "/echo", b"{}")
        assert client.getresponse().read() == b"{}"
    client.close()
