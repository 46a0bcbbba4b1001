"""An engine that fails after the first words of a stream, as the official clients see it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import anthropic
import httpcore2
import httpx2
import openai
import pytest

from renderlayer.derender.core import sse
from renderlayer.http.application import Application
from renderlayer.http.complete import complete_endpoints
from renderlayer.pipeline.engine import Engine
from renderlayer.served_model import ServedModel
from tests.derender.engine import encoded, events, split
from tests.pipeline.mocked import MockEngine

SAID = "Hello there, good day!"
ASKED: Any = [{"role": "user", "content": "Hello"}]
FAULTS = {
    "told": sse.event({"error": {"message": "out of memory", "type": "InternalServerError", "code": 500}}),
    "not JSON": b"data: {\n\n",
    "cut": httpcore2.ReadError("connection reset"),
    "ended": None,
}


class Body(httpx2.AsyncByteStream):
    """Some events of an answer, then what goes wrong."""

    def __init__(self, told: bytes, fault: Any) -> None:
        self._told = told
        self._fault = fault

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._told
        if isinstance(self._fault, Exception):
            raise self._fault
        if self._fault is not None:
            yield self._fault


@pytest.fixture(params=FAULTS)
def transport(request: pytest.FixtureRequest, server: ServedModel) -> httpx2.ASGITransport:
    """The front door, whose engine fails after two events."""
    first = b"".join(map(sse.event, [*events(split(encoded(server, SAID), [1, 2, 3]))][:2]))

    def answer(asked: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, stream=Body(first, FAULTS[request.param]))

    engine = Engine("http://engine", transport=MockEngine(answer))
    return httpx2.ASGITransport(app=Application(server.settings, waiting=complete_endpoints(server, engine)))


async def told(stream: Any, text: Callable[[Any], str | None]) -> str:
    """What a stream said before it failed."""
    said = []
    try:
        async for event in await stream:
            said.append(text(event) or "")  # noqa: PERF401
    except (openai.APIError, anthropic.APIError) as error:
        assert "engine" in str(error) or "out of memory" in str(error)
        return "".join(said)
    raise AssertionError("the stream ended as if it were whole")


@pytest.mark.parametrize("api", ["chat", "completions"])
def test_openai_raises(transport: httpx2.ASGITransport, api: str) -> None:
    async def run() -> str:
        async with httpx2.AsyncClient(transport=transport) as http:
            client = openai.AsyncOpenAI(base_url="http://door/v1", api_key="k", http_client=http, max_retries=0)
            if api == "chat":
                stream = client.chat.completions.create(model="small", messages=ASKED, stream=True)
                return await told(stream, lambda chunk: chunk.choices[0].delta.content if chunk.choices else None)
            texts = client.completions.create(model="small", prompt="Hello", stream=True)
            return await told(texts, lambda chunk: chunk.choices[0].text if chunk.choices else None)

    said = asyncio.run(run())
    assert said
    assert SAID.startswith(said)


def test_a_response_ends_in_an_error(transport: httpx2.ASGITransport) -> None:
    async def run() -> list[Any]:
        async with httpx2.AsyncClient(transport=transport) as http:
            client = openai.AsyncOpenAI(base_url="http://door/v1", api_key="k", http_client=http, max_retries=0)
            stream = await client.responses.create(model="small", input="Hello", stream=True)
            return [event async for event in stream]

    *begun, last = asyncio.run(run())
    said = "".join(event.delta for event in begun if event.type == "response.output_text.delta")
    assert said
    assert SAID.startswith(said)
    assert last.type == "error"
    assert "engine" in last.message or "out of memory" in last.message
    assert [event.sequence_number for event in (*begun, last)] == list(range(len(begun) + 1))


def test_anthropic_raises(transport: httpx2.ASGITransport) -> None:
    async def run() -> str:
        async with httpx2.AsyncClient(transport=transport) as http:
            client = anthropic.AsyncAnthropic(base_url="http://door", api_key="k", http_client=http, max_retries=0)
            stream = client.messages.create(model="small", max_tokens=20, messages=ASKED, stream=True)
            return await told(stream, lambda event: getattr(getattr(event, "delta", None), "text", None))

    said = asyncio.run(run())
    assert said
    assert SAID.startswith(said)
