"""What bodies may take of a server's memory, together, and how long they may be on their way."""

from __future__ import annotations

import asyncio
import gzip
import json
from typing import Any

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Message, Receive, Scope, Send

from renderlayer.errors import PayloadTooLarge, Unavailable
from renderlayer.http.execution import body_memory
from renderlayer.http.execution.body_memory import BYTES_A_BYTE, BYTES_A_PART, SMALL, BodyMemory
from tests.local.test_serve import COMMANDS, running

CAPACITY = 1 << 20
TEXT = b"x" * (CAPACITY // BYTES_A_BYTE // 2)
"""A body that takes half of it."""


def sent(memory: BodyMemory, *parts: bytes) -> asyncio.Future[list[Message]]:
    """What the application answers to a body in parts."""
    messages = [
        {"type": "http.request", "body": part, "more_body": at < len(parts) - 1} for at, part in enumerate(parts)
    ]
    answer: list[Message] = []

    async def receive() -> Message:
        return messages.pop(0)

    async def send(message: Message) -> None:
        answer.append(message)

    async def run() -> list[Message]:
        await memory({"type": "http", "path": "/", "headers": []}, receive, send)
        return answer

    return asyncio.ensure_future(run())


class Waiting:
    """An application that reads a body, and answers when it is told to."""

    def __init__(self) -> None:
        self.read = 0
        self.go = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await Request(scope, receive).body()
        self.read += 1
        await self.go.wait()
        await PlainTextResponse(str(len(body)))(scope, receive, send)


async def read(app: Waiting, count: int) -> None:
    while app.read < count:
        await asyncio.sleep(0)


def test_bodies_share_the_memory_until_they_are_answered() -> None:
    async def scenario() -> None:
        app = Waiting()
        memory = BodyMemory(app, CAPACITY)
        first = [sent(memory, TEXT), sent(memory, TEXT)]
        await read(app, 2)
        late, small = sent(memory, TEXT), sent(memory, b"{}")
        await read(app, 3)
        assert not late.done() and app.read == 3, "the small one goes past the one that waits"
        app.go.set()
        for answer in await asyncio.gather(*first, late, small):
            assert answer[0]["status"] == 200

    asyncio.run(scenario())


def test_who_waits_too_long_is_told_to_come_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body_memory, "PATIENCE", 0.0)

    async def scenario() -> None:
        app = Waiting()
        memory = BodyMemory(app, CAPACITY)
        held = sent(memory, TEXT + TEXT)
        await read(app, 1)
        with pytest.raises(Unavailable) as refused:
            await sent(memory, TEXT)
        assert refused.value.retry_after
        held.cancel()
        await asyncio.gather(held, return_exceptions=True)
        app.go.set()
        assert (await sent(memory, TEXT + TEXT))[0]["status"] == 200, "what was held is given back"

    asyncio.run(scenario())


@pytest.mark.parametrize("part", [b"[],", b"{},", b"1,"])
def test_what_can_never_fit_is_refused_before_it_is_decoded(part: bytes) -> None:
    async def scenario() -> None:
        memory = BodyMemory(Waiting(), CAPACITY)
        body = part * (CAPACITY // BYTES_A_PART)
        with pytest.raises(PayloadTooLarge, match="BODY_MEMORY_BYTES"):
            await sent(memory, bytes(SMALL), body)
        with pytest.raises(PayloadTooLarge):
            await sent(memory, bytes(SMALL), *(body[at : at + 1000] for at in range(0, len(body), 1000)))

    asyncio.run(scenario())


@pytest.mark.parametrize("command", COMMANDS, ids=["gateway", "server"])
def test_a_servers_answer_to_too_many_values(server: Any, command: list[str]) -> None:
    body = b'{"messages":[' + b"[]," * 100_000 + b"1]}"
    flags = [server.settings.model, "--body-memory-bytes", "16000000"]
    with running(command, *flags) as started, httpx.Client(base_url=started.url, timeout=60) as client:
        for content, headers in ((body, {}), (gzip.compress(body), {"content-encoding": "gzip"})):
            answer = client.post(
                "/v1/chat/completions/render",
                content=content,
                headers={"content-type": "application/json", **headers},
            )
            assert answer.status_code == 413, answer.text[:300]
            assert "RENDERLAYER_BODY_MEMORY_BYTES" in answer.json()["error"]["message"]
        chat = {"messages": [{"role": "user", "content": "x"}]}
        assert client.post("/v1/chat/completions/render", content=json.dumps(chat), headers=JSON).status_code == 200


JSON = {"content-type": "application/json"}
