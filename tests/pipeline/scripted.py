"""An engine on the wire that keeps to a script, and clients that leave: what a front door stands between."""

from __future__ import annotations

import asyncio
import json
import random
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from renderlayer.derender.core import sse
from tests.derender.engine import choice, response
from tests.references.servers import served

PAUSE = 0.05
"""Seconds between two events of a stream."""
SILENT, TORRENT = 1001, 1002
"""Seeds of requests that get no answer at all, and as many events as their client takes."""
BOUND = 240
"""Seconds in which every condition of a test comes true, on a machine that is busy with other things."""


class ScriptedEngine:
    """Answers a generate request with `max_tokens` tokens, one each `PAUSE`.

    Attributes:
        pause: seconds between two events.
        running: requests that are being answered.
        begun, finished: how many requests came, and how many got their whole answer.
        aborted: request ids that were aborted by name.
    """

    pause = PAUSE

    def __init__(self, token_ids: list[int]) -> None:
        self.running = self.begun = self.finished = 0
        self.aborted: list[str] = []
        self._tokens = token_ids

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return  # left before the request was sent
            body, more = body + message["body"], message.get("more_body", False)
        if scope["path"] == "/inference/v1/abort_requests":
            self.aborted += json.loads(body)["request_ids"]
        if scope["path"] != "/inference/v1/generate":
            await _whole(send, b"")
            return
        self.begun += 1
        self.running += 1
        told = asyncio.ensure_future(self._answer(json.loads(body), send))
        left = asyncio.ensure_future(receive())
        try:
            await asyncio.wait((told, left), return_when=asyncio.FIRST_COMPLETED)
            if told.done():
                told.result()
                self.finished += 1
        finally:
            self.running -= 1
            told.cancel()
            left.cancel()

    async def _answer(self, asked: dict[str, Any], send: Any) -> None:
        params = asked["sampling_params"]
        seed, count = params.get("seed"), params["max_tokens"]
        tokens = [self._tokens[at % len(self._tokens)] for at in range(count)]
        if seed == SILENT:
            await asyncio.Event().wait()
        if not asked.get("stream"):
            await asyncio.sleep(count * self.pause)
            whole = response(choice(tokens, "length"), request_id=asked["request_id"])
            await _whole(send, json.dumps(whole).encode())
            return
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
        for at, token in enumerate(tokens):
            last = at == count - 1 and seed != TORRENT
            event = sse.event(response(choice([token], "length" if last else None), request_id=asked["request_id"]))
            await send({"type": "http.response.body", "body": event, "more_body": True})
            await asyncio.sleep(0 if seed == TORRENT else self.pause)
        await send({"type": "http.response.body", "body": sse.DONE})

    @contextmanager
    def served(self) -> Iterator[str]:
        """Its URL while it listens."""
        with served(self) as url:
            yield url


async def _whole(send: Any, content: bytes) -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(content)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": content})


class Client:
    """One request on a socket of its own, which can be left at any byte."""

    def __init__(self, url: str, path: str, body: dict[str, Any], receive_buffer: int = 0) -> None:
        host, _, port = url.removeprefix("http://").partition(":")
        self._host, self._port = host, int(port)
        content = json.dumps(body).encode()
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nConnection: close\r\n"
        self._request = head.encode() + f"Content-Length: {len(content)}\r\n\r\n".encode() + content
        self._buffer = receive_buffer

    async def open(self) -> None:
        """Connect and send the request."""
        loop = asyncio.get_running_loop()
        connection = socket.socket()
        connection.setblocking(False)
        if self._buffer:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self._buffer)
        await loop.sock_connect(connection, (self._host, self._port))
        self._reader = asyncio.StreamReader(limit=self._buffer or 2**16, loop=loop)
        protocol = asyncio.StreamReaderProtocol(self._reader, loop=loop)
        self._transport, _ = await loop.create_connection(lambda: protocol, sock=connection)
        self._transport.write(self._request)

    async def answer(self) -> bytes:
        """The whole answer."""
        await self.open()
        try:
            return await self._reader.read()
        finally:
            self.leave()

    async def leave_after(self, seconds: float) -> None:
        """Send the request, and be gone so much later, whatever came until then."""
        await self.open()
        await asyncio.sleep(seconds)
        self.leave()

    def leave(self) -> None:
        self._transport.abort()


async def until(condition: Callable[[], bool], what: str) -> None:
    """Wait for a condition to become true."""
    end = time.monotonic() + BOUND
    while not condition():
        assert time.monotonic() < end, what
        await asyncio.sleep(0.05)


def points(count: int, longest: float) -> list[float]:
    """Moments at which clients leave, the same in each run."""
    chance = random.Random(7)
    return [chance.uniform(0, longest) for _ in range(count)]
