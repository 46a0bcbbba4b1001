"""Clients that leave, stop reading or wait for long: a served front door goes on, and its engine learns of it."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from renderlayer.served_model import ServedModel
from tests.derender.engine import encoded
from tests.local.test_serve import COMMANDS, Running, running
from tests.pipeline.scripted import BOUND, SILENT, TORRENT, Client, ScriptedEngine, points, until

CHAT = "/v1/chat/completions"
BODIES: dict[str, dict[str, Any]] = {
    CHAT: {"messages": [{"role": "user", "content": "Hello"}]},
    "/v1/completions": {"prompt": ["One", "Two", "Three"]},
    "/v1/responses": {"input": "Hello"},
    "/v1/messages": {"model": "small", "messages": [{"role": "user", "content": "Hello"}]},
}
CLIENTS = 200
MOST_TOKENS = 20
MOST_THREADS = 40 + 16
"""AnyIO keeps up to 40 worker threads, asyncio some that look up names; others are beside them (main, loaders)."""


@pytest.fixture(scope="module")
def engine(server: ServedModel) -> ScriptedEngine:
    return ScriptedEngine(encoded(server, "Hello there, good day!"))


@pytest.fixture(scope="module")
def door(server: ServedModel, engine: ScriptedEngine) -> Iterator[Running]:
    """`renderlayer serve` before the scripted engine."""
    flags = [server.settings.model, "--served-model-name", "small"]
    with (
        engine.served() as url,
        running(COMMANDS[1], *flags, "--engine-url", url, RENDERLAYER_SEND_TIMEOUT="2") as started,
    ):
        yield started


@pytest.fixture
def client(door: Running) -> Callable[..., Client]:
    """Makes a client with one request, of so many tokens."""

    def make(path: str = CHAT, tokens: int = 4, buffer: int = 0, **fields: Any) -> Client:
        counted = {"max_output_tokens" if path == "/v1/responses" else "max_tokens": tokens}
        return Client(door.url, path, {**BODIES[path], **counted, **fields}, buffer)

    return make


def threads(door: Running) -> int:
    return len(os.listdir(f"/proc/{door.process.pid}/task"))


def sockets(door: Running) -> int:
    folder = Path(f"/proc/{door.process.pid}/fd")
    return sum(_target(link).startswith("socket:") for link in folder.iterdir())


def _target(link: Path) -> str:
    try:
        return os.readlink(link)
    except FileNotFoundError:
        return ""


async def all_quiet(door: Running, engine: ScriptedEngine, client: Callable[..., Client], before: int) -> None:
    """A chat is answered as ever; the engine runs nothing; connections are closed.

    Idle ones to the engine are kept for some seconds, and closed when the next request comes.
    """
    await until(lambda: engine.running == 0, "no engine request runs")
    end = time.monotonic() + BOUND
    while True:
        assert b" 200 OK" in await asyncio.wait_for(client(tokens=1).answer(), BOUND)
        if sockets(door) <= before:
            return
        assert time.monotonic() < end, f"{sockets(door)} sockets are open, {before} were before"
        await asyncio.sleep(0.5)


def warmed_up(door: Running, client: Callable[..., Client]) -> int:
    """Let the server make what it keeps (worker threads); the number of its sockets when it does nothing."""

    async def burst() -> None:
        assert all(b" 200 OK" in answer for answer in await asyncio.gather(*(client().answer() for _ in range(80))))

    resting = sockets(door)
    asyncio.run(burst())
    return resting + 1  # to the engine one connection may be kept


@pytest.mark.parametrize("stream", [True, False], ids=["streams", "whole"])
def test_every_second_client_leaves(
    door: Running, engine: ScriptedEngine, client: Callable[..., Client], stream: bool
) -> None:
    before = warmed_up(door, client)

    async def crowd() -> list[Any]:
        paths = list(BODIES)
        moments = points(CLIENTS, MOST_TOKENS * 0.05)
        visits = [
            one.answer() if at % 2 else one.leave_after(moment)
            for at, moment in enumerate(moments)
            for one in [client(paths[at // 2 % len(paths)], MOST_TOKENS, stream=stream)]
        ]
        return await asyncio.gather(*visits)

    async def run() -> list[Any]:
        answers = await asyncio.wait_for(crowd(), 300)
        await all_quiet(door, engine, client, before)
        return answers

    answers = [answer for answer in asyncio.run(run()) if answer is not None]
    assert len(answers) == CLIENTS // 2
    assert all(b" 200 OK" in answer for answer in answers)
    assert threads(door) <= MOST_THREADS
    assert engine.finished < engine.begun
    assert "Traceback" not in "".join(door.output)


@pytest.mark.parametrize("stream", [True, False], ids=["streams", "whole"])
def test_a_silent_engine_is_left_as_soon_as_the_client_leaves(
    door: Running, engine: ScriptedEngine, client: Callable[..., Client], stream: bool
) -> None:
    before, ids = warmed_up(door, client), [f"silent-{stream}-{at}" for at in range(100)]
    engine.aborted.clear()

    async def run() -> None:
        waiting = [client(stream=stream, seed=SILENT, request_id=name) for name in ids]
        await asyncio.gather(*(one.open() for one in waiting))
        await until(lambda: engine.running == 100, "100 requests wait for the engine")
        assert b" 200 OK" in await asyncio.wait_for(client(stream=stream).answer(), 60)
        for one in waiting:
            one.leave()
        await all_quiet(door, engine, client, before)
        await until(lambda: len(engine.aborted) == 100, "each is aborted by its id")

    asyncio.run(run())
    assert set(engine.aborted) == {f"generate-tokens-chatcmpl-{name}" for name in ids}


def test_a_client_that_stops_reading_is_cut_off(
    door: Running, engine: ScriptedEngine, client: Callable[..., Client]
) -> None:
    before = warmed_up(door, client)

    async def run() -> None:
        begun = engine.begun
        stalled = [client(tokens=4000, buffer=4096, stream=True, seed=TORRENT) for _ in range(3)]
        await asyncio.gather(*(one.open() for one in stalled))
        await until(lambda: engine.begun == begun + 3, "the engine tells them all")  # the first may be cut off by then
        await all_quiet(door, engine, client, before + len(stalled))
        for one in stalled:
            one.leave()
        await all_quiet(door, engine, client, before)

    asyncio.run(run())


def test_answers_that_wait_starve_nobody(door: Running, engine: ScriptedEngine, client: Callable[..., Client]) -> None:
    before = warmed_up(door, client)

    async def run() -> None:
        waiting = [client(stream=bool(at % 2), seed=SILENT) for at in range(500)]
        await asyncio.gather(*(one.open() for one in waiting))
        await until(lambda: engine.running == 500, "500 answers wait")
        rendered = Client(door.url, f"{CHAT}/render", BODIES[CHAT])
        assert b'"token_ids":[' in await asyncio.wait_for(rendered.answer(), 60)
        assert threads(door) <= MOST_THREADS
        for one in waiting:
            one.leave()
        await all_quiet(door, engine, client, before)

    asyncio.run(run())


def test_more_answers_than_may_wait_are_refused_at_once(server: ServedModel, engine: ScriptedEngine) -> None:
    flags = [server.settings.model, "--max-waiting-answers", "2"]
    with engine.served() as url, running(COMMANDS[1], *flags, "--engine-url", url) as door:

        def ask(tokens: int = 4, **fields: Any) -> Client:
            return Client(door.url, CHAT, {**BODIES[CHAT], "max_tokens": tokens, **fields})

        async def run() -> None:
            waiting = [ask(seed=SILENT, stream=True), ask(seed=SILENT)]
            for one in waiting:
                await one.open()
            await until(lambda: engine.running == 2, "two wait")
            refused = await ask().answer()
            assert b" 429 " in refused.splitlines()[0]
            assert b"retry-after: 1" in refused.lower()
            assert b'"type":"TooManyRequestsError"' in refused
            for one in waiting:
                one.leave()
            await until(lambda: engine.running == 0, "none waits")
            end = time.monotonic() + BOUND
            while b" 200 OK" not in await ask().answer():
                assert time.monotonic() < end

        asyncio.run(run())


def test_ready_while_engine_calls_get_through(server: ServedModel, engine: ScriptedEngine) -> None:
    with engine.served() as url:
        with running(COMMANDS[1], server.settings.model, "--engine-url", url) as door:
            assert httpx.get(f"{door.url}/readyz").status_code == 200
        gone = url
    with running(COMMANDS[1], server.settings.model, "--engine-url", gone) as door:
        answer = httpx.get(f"{door.url}/readyz")
        assert (answer.status_code, answer.json()["error"]["type"]) == (503, "ServiceUnavailableError")
        assert "retry-after" in answer.headers
        assert httpx.get(f"{door.url}/health").status_code == 200
    with running(COMMANDS[1], server.settings.model) as door:
        assert httpx.get(f"{door.url}/readyz").status_code == 200
