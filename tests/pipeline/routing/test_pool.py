"""Several engines as one, on real sockets: what is lost goes to another, once, and before its first token only."""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import time
from collections import Counter
from contextlib import aclosing
from typing import Any

import httpx2
import pytest

from renderlayer.errors import Unavailable
from renderlayer.pipeline.engine import Engine
from renderlayer.pipeline.engine_answers import EngineError, EngineLost, StreamCut
from renderlayer.pipeline.routing.member import ATTEMPTS, INTERVAL, PROBE_SECONDS
from renderlayer.pipeline.routing.policy import POLICIES
from renderlayer.pipeline.routing.pool import EnginePool
from tests.pipeline.mocked import MockEngine
from tests.pipeline.routing.process import Process, engines
from tests.pipeline.scripted import BOUND, until

REQUESTS = 100
SECRET_TOKEN = 31_337


def asked(number: int, tokens: int = 4) -> dict[str, Any]:
    """A request of its own prompt."""
    prompt = [SECRET_TOKEN, *range(1000 * number, 1000 * number + 299)]
    return {"request_id": f"r-{number}", "token_ids": prompt, "sampling_params": {"max_tokens": tokens}}


def pool_of(*urls: str, policy: str = "prefix-affinity") -> EnginePool:
    return EnginePool(urls, lambda place: Engine(place[0], address=place[1]), POLICIES[policy])


def tokens(answer: dict[str, Any]) -> list[int]:
    return [token for choice in answer["choices"] for token in choice["token_ids"]]


async def seen(*processes: Process) -> Counter[str]:
    """How often each request came to engines."""
    async with httpx2.AsyncClient() as client:
        return Counter([name for one in processes for name in (await client.get(f"{one.url}/seen")).json()])


async def came(count: int, *processes: Process) -> None:
    end = time.monotonic() + BOUND
    while (await seen(*processes)).total() < count:
        assert time.monotonic() < end
        await asyncio.sleep(0.05)


def up(pool: EnginePool) -> list[bool]:
    return [told["state"] == "up" for told in pool.described()]


async def read(pool: EnginePool, request: dict[str, Any]) -> list[int]:
    async with aclosing(pool.stream(request)) as events:
        return [token async for event in events for token in tokens(event)]


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
def test_one_of_two_is_killed_under_a_hundred_requests(streamed: bool, caplog: pytest.LogCaptureFixture) -> None:
    """None is lost, none is answered twice; the log says which engine is left out, and no prompt."""

    async def run(first: Process, second: Process) -> None:
        pool = pool_of(first.url, second.url)
        call: Any = read if streamed else lambda pool, request: pool.generate(request)
        tasks = [asyncio.ensure_future(call(pool, asked(number))) for number in range(REQUESTS)]
        await came(REQUESTS, first, second)
        there, stays = await seen(first), await seen(second)
        assert there.total() > REQUESTS / 4 < stays.total()
        first.kill()
        answers = await asyncio.gather(*tasks)
        for number, answer in enumerate(answers):
            assert (answer if streamed else tokens(answer)) == asked(number)["token_ids"][:4]
        assert await seen(second) == Counter(f"r-{number}" for number in range(REQUESTS))
        assert await seen(second) == there + stays  # each of them once
        assert up(pool) == [False, True]
        assert [told["outstanding_tokens"] for told in pool.described()] == [0, 0]
        await pool.aclose()

    with caplog.at_level(logging.INFO), engines(2, first=3.0) as (first, second):
        asyncio.run(run(first, second))
        left = [record.getMessage() for record in caplog.records if "left out" in record.getMessage()]
        assert left == [f"engine {first.url} is left out: The engine is out of reach."]
    assert str(SECRET_TOKEN) not in caplog.text


def test_what_has_given_a_token_is_not_tried_again() -> None:
    async def run(first: Process, second: Process) -> None:
        pool = pool_of(first.url, second.url, policy="round-robin")
        given: list[int] = []
        with pytest.raises((EngineLost, StreamCut)):
            async with aclosing(pool.stream(asked(1, tokens=200))) as events:
                async for event in events:
                    given += tokens(event)
                    if len(given) == 3:
                        first.kill()
        assert given == asked(1)["token_ids"][: len(given)]
        assert await seen(second) == Counter()
        assert await read(pool, asked(2)) == asked(2)["token_ids"][:4]
        await pool.aclose()

    with engines(2, pause=0.05) as (first, second):
        asyncio.run(run(first, second))


def test_an_engine_that_is_slow_to_die_is_left_out_and_comes_back() -> None:
    """One that takes connections and says nothing; within two seconds, by the times that it is given."""
    assert INTERVAL + (ATTEMPTS + 1) * PROBE_SECONDS < 2  # another one may be asked in vain meanwhile

    async def run(first: Process, second: Process) -> None:
        pool = pool_of(first.url, second.url)
        waiting = asyncio.ensure_future(read(pool, asked(0, tokens=299)))  # goes on, wherever it is
        await came(1, first, second)
        holds, other = (first, second) if await seen(first) else (second, first)
        other.signal(signal.SIGSTOP)
        try:
            await until(lambda: up(pool).count(True) == 1, "it is left out")
            assert up(pool)[(first, second).index(holds)]
            answers = await asyncio.gather(*(pool.generate(asked(number)) for number in range(1, 20)))
            assert all(len(tokens(answer)) == 4 for answer in answers)
        finally:
            other.signal(signal.SIGCONT)
        await until(lambda: all(up(pool)), "it is well again")
        assert await waiting == asked(0)["token_ids"][:299]
        await pool.aclose()

    with engines(2, pause=0.1) as (first, second):
        asyncio.run(run(first, second))


def test_all_are_tried_while_all_are_left_out() -> None:
    async def run(first: Process, second: Process) -> None:
        pool = pool_of(first.url, second.url)
        first.kill()
        second.kill()
        with pytest.raises(EngineLost, match="out of reach"):
            await pool.generate(asked(1))
        assert up(pool) == [False, False]
        with pytest.raises(EngineLost, match="out of reach"):
            await pool.check()
        again = Process(0.0, 0.0, second.port)
        try:
            assert tokens(await pool.generate(asked(2))) == asked(2)["token_ids"][:4]
            await pool.check()
        finally:
            again.kill()
        await pool.aclose()

    with engines(2) as (first, second):
        asyncio.run(run(first, second))


@pytest.mark.parametrize(
    ("status", "calls", "kind"),
    [(502, 2, EngineLost), (503, 2, EngineLost), (504, 2, EngineLost), (429, 1, Unavailable), (400, 1, EngineError)],
)
def test_which_answers_count_as_lost(status: int, calls: int, kind: type[Exception]) -> None:
    sent: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        if request.url.path == "/inference/v1/generate":
            sent.append(str(request.url.host))
            return httpx2.Response(status, content=json.dumps({"error": {"message": "no"}}))
        return httpx2.Response(200)

    async def run() -> None:
        pool = EnginePool(
            ["http://a", "http://b"],
            lambda place: Engine(place[0], transport=MockEngine(answer)),
            POLICIES["rendezvous"],
        )
        pool._names = False
        pool._take([("http://a", ""), ("http://b", "")])
        with pytest.raises(kind):
            await pool.generate(asked(1))
        await pool.aclose()

    asyncio.run(run())
    assert len(sent) == len(set(sent)) == calls


def test_a_request_that_its_client_leaves_is_not_tried_again() -> None:
    async def run(first: Process, second: Process) -> None:
        pool = pool_of(first.url, second.url)
        task = asyncio.ensure_future(pool.generate(asked(1)))
        await came(1, first, second)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await seen(first, second)).total() == 1
        assert [told["outstanding_tokens"] for told in pool.described()] == [0, 0]
        await pool.aclose()

    with engines(2, first=5.0) as (first, second):
        asyncio.run(run(first, second))


def test_turns_of_a_conversation_stay_where_the_first_one_was() -> None:
    async def run(*processes: Process) -> None:
        pool = pool_of(*(process.url for process in processes))
        for turn in range(1, 6):
            for chat in range(6):
                prompt = [*range(10_000 * chat, 10_000 * chat + 300 * turn)]
                await pool.generate({**asked(0), "request_id": f"{chat}", "token_ids": prompt})
        counts = [await seen(process) for process in processes]
        assert sum(counts, Counter()) == Counter({f"{chat}": 5 for chat in range(6)})
        assert all(count in (0, 5) for one in counts for count in one.values())
        assert all(len(one) == 2 for one in counts)
        await pool.aclose()

    with engines(3) as processes:
        asyncio.run(run(*processes))
