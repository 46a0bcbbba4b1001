"""The front door through the local gateway: streamed by default, collected with `--buffered`; and its log."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx2
import pytest

from infra.local.gateway import CONCURRENCY
from renderlayer.served_model import ServedModel
from tests.derender.engine import encoded
from tests.local.test_serve import COMMANDS, Running, running
from tests.pipeline.scripted import SILENT, Client, ScriptedEngine, until

CHAT = "/v1/chat/completions"
SECRET = "an unspeakable prompt"
BODY = {"messages": [{"role": "user", "content": SECRET}], "max_tokens": 6, "stream": True}
STREAMS = 50
LONG = 3000
"""Tokens that an engine takes minutes for."""


@pytest.fixture
def engine(server: ServedModel) -> ScriptedEngine:
    return ScriptedEngine(encoded(server, "one two three four five six"))


@pytest.fixture
def address(engine: ScriptedEngine) -> Iterator[str]:
    with engine.served() as url:
        yield url


def gateway(server: ServedModel, engine_url: str, *flags: str, **environment: str) -> Any:
    flags = (server.settings.model, "--served-model-name", "small", "--engine-url", engine_url, *flags)
    return running(COMMANDS[0], *flags, **environment)


async def events(response: httpx2.Response) -> AsyncIterator[Any]:
    async for line in response.aiter_lines():
        if line.startswith("data: {"):
            yield json.loads(line.removeprefix("data: "))


def test_events_come_while_the_engine_goes_on(server: ServedModel, engine: ScriptedEngine, address: str) -> None:
    async def one(client: httpx2.AsyncClient) -> str:
        told: list[str] = []
        async with client.stream("POST", CHAT, json=BODY) as response:
            assert response.status_code == 200
            assert "content-length" not in response.headers
            async for event in events(response):
                told += [choice["delta"].get("content") or "" for choice in event["choices"]]
        return "".join(told)

    async def all_of_them(url: str) -> list[str]:
        limits = httpx2.Limits(max_connections=STREAMS)
        async with httpx2.AsyncClient(base_url=url, timeout=120, limits=limits) as client:
            async with client.stream("POST", CHAT, json={**BODY, "max_tokens": LONG}) as response:
                await anext(events(response))
                assert engine.running == 1
            await until(lambda: not engine.running, "its client left")
            return await asyncio.gather(*(one(client) for _ in range(STREAMS)))

    with gateway(server, address) as started:
        texts = asyncio.run(all_of_them(started.url))
    assert len(texts) == STREAMS
    assert len(set(texts)) == 1
    assert texts[0].startswith("one two")


def test_a_client_that_leaves_ends_the_engines_request(
    server: ServedModel, engine: ScriptedEngine, address: str
) -> None:
    async def run(started: Running) -> None:
        clients = [Client(started.url, CHAT, {**BODY, "seed": SILENT, "stream": stream}) for stream in (True, False)]
        for client in clients:
            await client.open()
        await until(lambda: engine.running == 2, "both wait")
        for client in clients:
            client.leave()
        await until(lambda: engine.running == 0, "none waits")

    with gateway(server, address) as started:
        asyncio.run(run(started))
        assert httpx2.get(f"{started.url}/readyz", timeout=60).status_code == 200


def test_buffered_answers_come_whole(server: ServedModel, engine: ScriptedEngine, address: str) -> None:
    async def waiting(started: Running) -> httpx2.Response:
        """An answer that is asked for while more clients wait than the gateway has threads, and then leave."""
        clients = [Client(started.url, CHAT, {**BODY, "seed": SILENT}) for _ in range(2 * CONCURRENCY)]
        for client in clients:
            await client.open()
        await until(lambda: engine.running == len(clients), "all wait")
        async with httpx2.AsyncClient(timeout=60) as asking:
            answer = await asking.post(started.url + CHAT, json=BODY)
        for client in clients:
            client.leave()
        await until(lambda: engine.running == 0, "none waits")
        return answer

    with gateway(server, address, "--buffered") as started:
        answer = asyncio.run(waiting(started))
    assert int(answer.headers["content-length"]) == len(answer.content)
    assert answer.text.endswith("data: [DONE]\n\n")
    assert not engine.running


@pytest.mark.parametrize("command", [0, 1], ids=["gateway", "server"])
@pytest.mark.parametrize("form", ["text", "json"])
def test_a_request_is_a_line_of_the_log(server: ServedModel, address: str, command: int, form: str) -> None:
    flags = [server.settings.model, "--engine-url", address, "--log-format", form]
    with running(COMMANDS[command], *flags) as started:
        prompt = httpx2.post(f"{started.url}{CHAT}/render", json=BODY, timeout=60).json()["token_ids"]
        httpx2.post(started.url + CHAT, json=BODY, timeout=60)
        httpx2.post(started.url + CHAT, json={**BODY, "stream": False}, timeout=60)
        assert started.stop(2) == 0
    output = started.output[1:]
    lines = [line for line in output if "/v1/chat/completions" in line]
    lines = [line for line in lines if "/render" not in line]
    assert len(lines) == 2
    for line in lines:
        if form == "json":
            told = json.loads(line)
            assert told.items() >= {"level": "INFO", "method": "POST", "path": CHAT, "status": 200}.items()
            assert told.items() >= {"prompt_tokens": len(prompt), "completion_tokens": 6}.items()
            assert told["duration_ms"] > 0
        else:
            assert f"POST {CHAT} 200 " in line
            assert line.rstrip().endswith(f" ms prompt_tokens={len(prompt)} completion_tokens=6")
    assert not any(SECRET in line or "CloudWatchMetrics" in line for line in output)


def test_quiet_logs(server: ServedModel, address: str) -> None:
    with running(COMMANDS[1], server.settings.model, "--log-level", "warning") as started:
        httpx2.get(f"{started.url}/health", timeout=60)
        started.stop(2)
    assert not any("/health" in line for line in started.output)
