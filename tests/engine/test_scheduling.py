"""Many requests at once: turns, limits, leaving, aborting."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from infra.generate.decoding.choice import Delta
from infra.generate.decoding.sampling import SamplingParams
from infra.generate.engine import Engine, Run
from infra.generate.options import Options
from renderlayer.served_model import ServedModel
from renderlayer.wire.generate import GenerateRequest
from tests.engine.serving import GENERATE, Service, served
from tests.engine.tiny import load_model

LONG = 900


def opened(engine: Engine, tokens: int, prompt: int = 4, **params: object) -> Run:
    request = GenerateRequest(token_ids=[9] * prompt, sampling_params={})
    wanted = SamplingParams.from_wire({"max_tokens": tokens, "ignore_eos": True, "seed": 1, **params})
    return engine.open(f"r{tokens}", request, wanted)


async def finished(run: Run) -> list[Delta]:
    return [delta async for delta in run.deltas()]


async def exhaust(deltas: AsyncIterator[Delta]) -> None:
    async for _ in deltas:
        pass


@asynccontextmanager
async def running(tiny: ServedModel, folder: Path, options: Options) -> AsyncIterator[Engine]:
    engine = Engine(tiny, load_model(folder), options)
    engine.start()
    try:
        yield engine
    finally:
        await asyncio.to_thread(engine.close)


def test_a_short_request_does_not_wait_for_a_long_one(tiny: ServedModel, tiny_folder: Path) -> None:
    async def scenario() -> list[str]:
        ended: list[str] = []
        async with running(tiny, tiny_folder, Options()) as engine:
            deltas = opened(engine, 120).deltas()
            await anext(deltas)

            async def rest() -> None:
                await exhaust(deltas)
                ended.append("long")

            async def short() -> None:
                await finished(opened(engine, 5))
                ended.append("short")

            await asyncio.gather(rest(), short())
        return ended

    assert asyncio.run(scenario()) == ["short", "long"]


def test_a_long_prompt_is_computed_in_pieces_between_tokens(tiny: ServedModel, tiny_folder: Path) -> None:
    async def scenario() -> int:
        tokens_before_read: list[int] = []
        async with running(tiny, tiny_folder, Options(max_num_batched_tokens=16)) as engine:
            talk = opened(engine, 40)
            deltas = talk.deltas()
            await anext(deltas)

            async def read() -> None:
                await finished(opened(engine, 1, prompt=320))
                tokens_before_read.append(len(talk.job.choices[0].token_ids))

            await asyncio.gather(exhaust(deltas), read())
        return tokens_before_read[0]

    assert asyncio.run(scenario()) >= 20  # 320 tokens are 20 pieces, and between two a token of the other request


def test_answers_do_not_depend_on_the_company(tiny: ServedModel, tiny_folder: Path) -> None:
    async def scenario() -> None:
        async with running(tiny, tiny_folder, Options()) as engine:
            alone = [await finished(opened(engine, count, logprobs=3)) for count in (7, 20, 33)]
            together = await asyncio.gather(*(finished(opened(engine, count, logprobs=3)) for count in (7, 20, 33)))
            assert alone == list(together)

    asyncio.run(scenario())


def test_more_than_fit_wait_in_order(tiny: ServedModel, tiny_folder: Path) -> None:
    async def scenario() -> list[int]:
        ended: list[int] = []

        async def one(engine: Engine, tokens: int) -> None:
            await finished(opened(engine, tokens))
            ended.append(tokens)

        async with running(tiny, tiny_folder, Options(max_num_seqs=1)) as engine:
            await asyncio.gather(*(one(engine, tokens) for tokens in (30, 20, 10)))
        return ended

    assert asyncio.run(scenario()) == [30, 20, 10]


def test_leaving_ends_the_request(tiny: ServedModel, tiny_folder: Path) -> None:
    async def scenario() -> None:
        async with running(tiny, tiny_folder, Options(max_num_seqs=1)) as engine:
            run = opened(engine, LONG)
            deltas = run.deltas()
            await anext(deltas)
            await deltas.aclose()
            await finished(opened(engine, 3))
            (choice,) = run.job.choices
            assert choice.finished
            assert len(choice.token_ids) < LONG

    asyncio.run(scenario())


def test_closing_aborts_what_runs_and_what_waits(tiny: ServedModel, tiny_folder: Path) -> None:
    async def scenario() -> None:
        async with running(tiny, tiny_folder, Options(max_num_seqs=1)) as engine:
            first = opened(engine, LONG).deltas()
            await anext(first)
            waiting = asyncio.ensure_future(finished(opened(engine, LONG)))
            await asyncio.sleep(0)
            await asyncio.to_thread(engine.close)
            assert [delta async for delta in first][-1].finish_reason == "abort"
            assert [(delta.token_ids, delta.finish_reason) for delta in await waiting] == [([], "abort")]

    asyncio.run(scenario())


@pytest.fixture(scope="module")
def single(tiny: ServedModel, tiny_folder: Path) -> Iterator[Service]:
    """One sequence at a time: a request that goes on after its caller left would hold up all others."""
    with served(tiny, load_model(tiny_folder), Options(max_num_seqs=1)) as service:
        yield service


def long_body(stream: bool) -> dict[str, object]:
    params = {"max_tokens": LONG, "ignore_eos": True}
    return {"token_ids": [5, 6], "sampling_params": params, "stream": stream, "request_id": "long"}


def test_a_stream_whose_client_leaves_is_ended(single: Service) -> None:
    with single.client.stream("POST", GENERATE, json=long_body(True)) as response:
        next(response.iter_lines())
    run = single.engine.runs[-1]
    assert single.tokens([5], max_tokens=2, ignore_eos=True)
    assert len(run.job.choices[0].token_ids) < LONG


def test_a_whole_answer_whose_client_leaves_is_ended(single: Service) -> None:
    before = len(single.engine.runs)
    timeout = httpx.Timeout(30, read=0.3)
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(str(single.client.base_url) + GENERATE, json=long_body(False), timeout=timeout, trust_env=False)
    assert single.tokens([5], max_tokens=2, ignore_eos=True)
    run = single.engine.runs[before]
    assert run.job.choices[0].finished
    assert len(run.job.choices[0].token_ids) < LONG


@pytest.mark.parametrize("stream", [False, True])
def test_abort_by_the_prefixed_id(single: Service, stream: bool) -> None:
    def abort() -> None:
        httpx.post(
            f"{single.client.base_url}/inference/v1/abort_requests",
            content=json.dumps({"request_ids": ["generate-tokens-long"]}),
            trust_env=False,
        )

    begun = len(single.engine.runs)
    answers: list[httpx.Response] = []
    asking = threading.Thread(target=lambda: answers.append(single.post(**long_body(stream))))
    asking.start()
    while len(single.engine.runs) == begun or not single.engine.runs[begun].job.choices[0].token_ids:
        pass
    abort()
    asking.join()
    (response,) = answers
    text = response.text
    assert '"finish_reason":"abort"' in text
    assert response.status_code == 200
    assert len(single.engine.runs[begun].job.choices[0].token_ids) < LONG
