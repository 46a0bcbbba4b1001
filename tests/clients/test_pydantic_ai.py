"""`pydantic-ai`, with its default output mode, and its two ways to a server like this one."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.clients.conftest import KEY, MODEL
from tests.clients.examples import CITY_QUESTION, QUESTION, City

pytest.importorskip("pydantic_ai")

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider

GREEDY = {"temperature": 0, "max_tokens": 200}


@pytest.fixture(params=[OpenAIChatModel, OpenAIResponsesModel], ids=["chat", "responses"])
def model(request: pytest.FixtureRequest, base_url: str) -> Any:
    return request.param(MODEL, provider=OpenAIProvider(base_url=base_url, api_key=KEY), settings=GREEDY)


def test_text(model: Any) -> None:
    assert "Paris" in Agent(model).run_sync(QUESTION).output


def test_text_streamed(model: Any) -> None:
    async def parts() -> list[str]:
        async with Agent(model).run_stream(QUESTION) as result:
            return [part async for part in result.stream_text(delta=True, debounce_by=None)]

    streamed = asyncio.run(parts())
    assert len(streamed) > 2
    assert "Paris" in "".join(streamed)


def test_a_typed_output(model: Any) -> None:
    assert isinstance(Agent(model, output_type=City, retries=0).run_sync(CITY_QUESTION).output, City)


def test_a_typed_output_streamed(model: Any) -> None:
    async def parts() -> list[City]:
        async with Agent(model, output_type=City, retries=0).run_stream(CITY_QUESTION) as result:
            return [part async for part in result.stream_output(debounce_by=None)]

    assert asyncio.run(parts())[-1].name
