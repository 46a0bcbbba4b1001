"""A scripted engine in a process of its own, which can be killed and stopped.

Its answer to a request is the prompt's own first `max_tokens` tokens, `pause` seconds each; the first comes after
`first` seconds. `GET /seen` tells the ids of the requests that came, in order.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from renderlayer.derender.core import sse
from tests.derender.engine import choice, response


class Process:
    """A running one."""

    def __init__(self, first: float, pause: float, port: int = 0) -> None:
        command = [sys.executable, "-m", "tests.pipeline.routing.process", str(first), str(pause), str(port)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().strip()
        self.port = int(self.url.rpartition(":")[2])

    def signal(self, number: signal.Signals) -> None:
        os.kill(self._process.pid, number)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


@contextmanager
def engines(count: int, first: float = 0.0, pause: float = 0.0) -> Iterator[list[Process]]:
    """So many of them, until the end of a test."""
    started = [Process(first, pause) for _ in range(count)]
    try:
        yield started
    finally:
        for process in started:
            process.kill()


class _Engine:
    def __init__(self, first: float, pause: float) -> None:
        self._first, self._pause = first, pause
        self._seen: list[str] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body, more = body + message["body"], message.get("more_body", False)
        if scope["path"] != "/inference/v1/generate":
            await _answer(send, json.dumps(self._seen).encode())
            return
        asked = json.loads(body)
        self._seen.append(asked["request_id"])
        tokens = asked["token_ids"][: asked["sampling_params"]["max_tokens"]]
        await asyncio.sleep(self._first)
        if not asked.get("stream"):
            await asyncio.sleep(self._pause * len(tokens))
            await _answer(send, json.dumps(response(choice(tokens), request_id=asked["request_id"])).encode())
            return
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
        for at, token in enumerate(tokens):
            event = response(choice([token], "stop" if at == len(tokens) - 1 else None), request_id=asked["request_id"])
            await send({"type": "http.response.body", "body": sse.event(event), "more_body": True})
            await asyncio.sleep(self._pause)
        await send({"type": "http.response.body", "body": sse.DONE})


async def _answer(send: Any, content: bytes) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]})
    await send({"type": "http.response.body", "body": content})


def main(first: str, pause: str, port: str) -> None:
    import uvicorn

    class Server(uvicorn.Server):
        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            print(f"http://127.0.0.1:{self.servers[0].sockets[0].getsockname()[1]}", flush=True)

    engine = _Engine(float(first), float(pause))
    config = uvicorn.Config(
        engine,
        host="0.0.0.0",
        port=int(port),
        lifespan="off",
        ws="none",
        log_level="error",
    )
    Server(config).run()


if __name__ == "__main__":
    main(*sys.argv[1:])
