"""The engine's client: events however they are cut, deadlines, requests that are given up."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing, contextmanager, suppress
from typing import Any

import httpcore2
import httpx2
import pytest

from renderlayer.derender.core import sse
from renderlayer.errors import BadGateway, Unavailable
from renderlayer.pipeline.engine import Engine
from tests.derender.engine import choice, response
from tests.pipeline.loop import read, wait
from tests.pipeline.mocked import MockEngine

TEXTS = ["a b", "c\u2028d\u2029e\x85f", "g\x0bh\x0ci\x1cj", "ü😂"]
REQUEST = {"request_id": "r", "token_ids": [1], "sampling_params": {}}
ABORTED = response(choice([1, 2], finish_reason="abort"))
Answer = Callable[[httpx2.Request], httpx2.Response]


@contextmanager
def engine(answer: Answer, **options: Any) -> Iterator[Engine]:
    client = Engine("http://engine/", transport=MockEngine(answer), **options)
    yield client
    wait(client.aclose())


class Parts(httpx2.AsyncByteStream):
    """A body in the parts in which it comes; None is where no more comes."""

    def __init__(self, *parts: bytes | None) -> None:
        self.parts = parts
        self.closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for part in self.parts:
            if part is None:
                await asyncio.Event().wait()
            else:
                yield part

    async def aclose(self) -> None:
        self.closed = True


def streamed(*parts: bytes | None) -> Answer:
    return lambda request: httpx2.Response(200, stream=Parts(*parts))


@pytest.mark.parametrize("size", [1, 2, 3, 7, 10_000])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"], ids=["lf", "crlf", "cr"])
def test_events_are_whole_however_they_are_cut(size: int, end: bytes) -> None:
    events = [{"choices": [{"text": text}]} for text in TEXTS]
    written = [json.dumps(event, ensure_ascii=False).encode() for event in events]
    body = b"".join(b": beat" + end + b"data: " + event + end * 2 for event in [*written, b"[DONE]"])
    parts = [body[at : at + size] for at in range(0, len(body), size)]
    with engine(streamed(*parts)) as client:
        assert read(client.stream(REQUEST)) == events


def test_an_event_that_is_too_large_is_not_held() -> None:
    part = b"x" * (1 << 20)
    with (
        engine(streamed(b"data: ", *[part] * (sse.LARGEST_EVENT // len(part) + 1))) as client,
        pytest.raises(BadGateway, match="too much"),
    ):
        read(client.stream(REQUEST))


@pytest.mark.parametrize("told", [b"data: {\n\n", b"data: [1]\n\n", b"data: {}\n\n"], ids=["cut", "list", "no end"])
def test_what_is_no_stream_of_the_wire(told: bytes) -> None:
    with engine(streamed(told)) as client, pytest.raises(BadGateway):
        read(client.stream(REQUEST))


def test_a_deadline_ends_an_answer_and_the_engine_is_told() -> None:
    aborted: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        if request.url.path == "/inference/v1/abort_requests":
            aborted.extend(json.loads(request.content)["request_ids"])
            return httpx2.Response(200)
        return streamed(sse.event({"choices": []}), None)(request)

    with engine(answer) as client:
        with pytest.raises(Unavailable, match="in time"):
            read(client.stream(REQUEST, timeout=0.1))
        with pytest.raises(Unavailable, match="in time"):
            wait(client.generate(REQUEST, timeout=0.1))
        wait(client.aclose())
    assert aborted == ["generate-tokens-r"] * 2


def test_a_request_whose_id_is_in_use_twice_is_not_aborted_by_its_id() -> None:
    aborted: list[bytes] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        if request.url.path == "/inference/v1/abort_requests":
            aborted.append(request.content)
            return httpx2.Response(200)
        return streamed(sse.event({"choices": []}), None)(request)

    async def two() -> None:
        async with aclosing(client.stream(REQUEST)) as first, aclosing(client.stream(REQUEST)) as second:
            await anext(first)
            await anext(second)
            await first.aclose()
            await client.aclose()
            assert not aborted

    with engine(answer) as client:
        wait(two())
    assert len(aborted) == 1


def test_a_connection_is_closed_with_the_iterator() -> None:
    body = Parts(sse.event({"choices": []}), None)

    async def one() -> None:
        async with aclosing(client.stream(REQUEST)) as events:
            await anext(events)
            assert not body.closed
        assert body.closed

    with engine(lambda request: httpx2.Response(200, stream=body)) as client:
        wait(one())


def answered(answer: dict[str, Any]) -> Answer:
    return lambda request: httpx2.Response(200, json=answer)


def test_answers_that_a_stop_cut_off_are_passed_on_or_refused() -> None:
    with engine(answered(ABORTED)) as client:
        assert wait(client.generate({})) == ABORTED
    with engine(answered(ABORTED), refuse_aborted=True) as client, pytest.raises(BadGateway, match="stopped"):
        wait(client.generate({}))
    whole = response(choice([1, 2], finish_reason="stop"))
    with engine(answered(whole), refuse_aborted=True) as client:
        assert wait(client.generate({})) == whole


@pytest.mark.parametrize(
    ("url", "answer", "told"),
    [
        ("http://user:secret@engine:8000/v1", httpx2.Response(404, json={"detail": "Not Found"}), "without /v1"),
        ("http://engine:8000", httpx2.Response(404, json={"detail": "Not Found"}), "--enable-scale-out"),
        ("http://engine:8000", httpx2.Response(500, text="private words"), "status 500"),
        ("http://engine:8000", httpcore2.ConnectError("connection refused"), "ConnectError: connection refused"),
    ],
)
def test_faults_are_told_to_the_operator(
    url: str, answer: Any, told: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("renderlayer"), "propagate", True)

    def respond(request: httpx2.Request) -> httpx2.Response:
        if isinstance(answer, Exception):
            raise answer
        return httpx2.Response(answer.status_code, content=answer.content)

    client = Engine(url, transport=MockEngine(respond))
    with pytest.raises((BadGateway, Unavailable)) as caught:
        wait(client.generate(REQUEST))
    wait(client.aclose())
    (line,) = caplog.messages
    assert "http://engine:8000" in line
    assert told in line
    assert not {"secret", "private"} & set(line.replace(":", " ").split())
    assert "engine:8000" not in caught.value.message


def test_a_call_that_is_left_while_it_connects_keeps_no_connection() -> None:
    """Left after any number of the loop's turns: the pool must not hold what nobody will use or close."""

    async def run() -> list[str]:
        async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read()
            writer.close()

        server = await asyncio.start_server(silent, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        client = Engine(f"http://127.0.0.1:{port}")
        try:
            for turns in range(30):
                call = asyncio.ensure_future(client.generate(REQUEST))
                for _ in range(turns):
                    await asyncio.sleep(0)
                call.cancel()
                with suppress(asyncio.CancelledError):
                    await call
            pool = client._here().transport
            async with asyncio.timeout(20):
                while kept := [connection for connection in pool.connections if not connection.is_idle()]:
                    if client._aborts:
                        await asyncio.wait(client._aborts)
                    else:
                        return [repr(connection) for connection in kept]
            return []
        finally:
            server.close()
            await client.aclose()

    assert wait(run()) == []
