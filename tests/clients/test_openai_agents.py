"""`openai-agents`, over Responses (its default) and over chat completions."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.clients.conftest import KEY, MODEL
from tests.clients.examples import CITY_QUESTION, QUESTION

pytest.importorskip("agents")

from agents import (
    Agent,
    ModelSettings,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    Runner,
    function_tool,
    set_tracing_disabled,
)
from openai import AsyncOpenAI

set_tracing_disabled(True)


@pytest.fixture(params=[OpenAIResponsesModel, OpenAIChatCompletionsModel], ids=["responses", "chat"])
def model(request: pytest.FixtureRequest, base_url: str) -> Any:
    return request.param(model=MODEL, openai_client=AsyncOpenAI(base_url=base_url, api_key=KEY))


def test_a_run(model: Any) -> None:
    agent = Agent(name="geographer", model=model, model_settings=ModelSettings(temperature=0))
    assert "Paris" in Runner.run_sync(agent, QUESTION).final_output


def test_a_streamed_run(model: Any) -> None:
    agent = Agent(name="geographer", model=model, model_settings=ModelSettings(temperature=0))

    async def deltas() -> list[str]:
        result = Runner.run_streamed(agent, QUESTION)
        raw = [event.data async for event in result.stream_events() if event.type == "raw_response_event"]
        return [event.delta for event in raw if event.type == "response.output_text.delta"]

    parts = asyncio.run(deltas())
    assert len(parts) > 2
    assert "Paris" in "".join(parts)


def test_a_tool_is_run(model: Any) -> None:
    called: list[tuple[str, int]] = []

    @function_tool
    def report(name: str, inhabitants: int) -> str:
        """Report a city."""
        called.append((name, inhabitants))
        return "reported"

    agent = Agent(
        name="geographer",
        model=model,
        tools=[report],
        tool_use_behavior="stop_on_first_tool",
        model_settings=ModelSettings(temperature=0, tool_choice="required"),
    )
    assert Runner.run_sync(agent, CITY_QUESTION).final_output == "reported"
    assert len(called) == 1
