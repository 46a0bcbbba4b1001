"""The official Anthropic client reads our messages: as objects, as streams, and as input of the next turn."""

from __future__ import annotations

import asyncio
from typing import Any

import anthropic
import httpx2
import pytest
from anthropic.types import Message, TextBlock, ThinkingBlock, ToolUseBlock

from renderlayer.served_model import ServedModel
from tests.derender.pipeline import Pipeline
from tests.derender.telling import ANSWER, MESSAGES

TOOLS: Any = MESSAGES["tools"]
FORMS = pytest.mark.parametrize("by_chunk", [False, True])


def client(pipeline: Pipeline) -> anthropic.AsyncAnthropic:
    http = httpx2.AsyncClient(transport=pipeline)
    return anthropic.AsyncAnthropic(base_url="http://pipeline", api_key="key", http_client=http, max_retries=0)


def asked(text: str) -> dict[str, Any]:
    return {"model": "small", "max_tokens": 500, "messages": [{"role": "user", "content": text}]}


def test_a_message_and_the_next_turn(parsed_server: ServedModel) -> None:
    pipeline = Pipeline(parsed_server, ANSWER)

    async def talk() -> tuple[Message, Message]:
        one = client(pipeline)
        first = await one.messages.create(**asked("Weather?"), tools=TOOLS)
        results: list[Any] = [
            {"type": "tool_result", "tool_use_id": block.id, "content": "21 °C"}
            for block in first.content
            if isinstance(block, ToolUseBlock)
        ]
        turns: list[Any] = [
            {"role": "user", "content": "Weather?"},
            {"role": "assistant", "content": first.content},
            {"role": "user", "content": results},
        ]
        second = await one.messages.create(model="small", max_tokens=500, messages=turns, tools=TOOLS)
        return first, second

    first, second = asyncio.run(talk())

    assert [type(block) for block in first.content] == [ThinkingBlock, TextBlock, ToolUseBlock, ToolUseBlock]
    assert first.stop_reason == "tool_use"
    assert first.usage.output_tokens > 0
    assert second.role == "assistant"
    assert 'Hello Köln 😀\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}' in pipeline.prompts[1]
    assert pipeline.prompts[1].count("<|im_start|>tool\n21 °C") == 2


@FORMS
def test_the_stream_helper(parsed_server: ServedModel, by_chunk: bool) -> None:
    async def talk() -> tuple[list[str], Message, Message]:
        one = client(Pipeline(parsed_server, ANSWER, [3] * 100, by_chunk))
        async with one.messages.stream(**asked("Weather?"), tools=TOOLS) as stream:
            said = [text async for text in stream.text_stream]
            final = await stream.get_final_message()
        return said, final, await one.messages.create(**asked("Weather?"), tools=TOOLS)

    said, final, whole = asyncio.run(talk())

    assert len(said) > 1
    assert "".join(said) == "\n\nHello Köln 😀\n"
    thinking, text, *calls = final.content
    assert isinstance(thinking, ThinkingBlock)
    assert thinking.thinking == "\nLet me see.\n"
    assert isinstance(text, TextBlock)
    inputs = [call.input for call in calls if isinstance(call, ToolUseBlock)]
    assert inputs == [{"city": "Paris"}, {"city": "Rome", "days": [1, 2]}]
    assert (final.stop_reason, final.usage) == (whole.stop_reason, whole.usage)


@FORMS
def test_a_stop_sequence(server: ServedModel, by_chunk: bool) -> None:
    async def talk() -> Message:
        one = client(Pipeline(server, "one two\n\nHuman:", [1] * 30, by_chunk, stop_reason="\n\nHuman:"))
        async with one.messages.stream(**asked("Hi"), stop_sequences=["\n\nHuman:"]) as stream:
            return await stream.get_final_message()

    final = asyncio.run(talk())

    assert (final.stop_reason, final.stop_sequence) == ("stop_sequence", "\n\nHuman:")
    assert isinstance(final.content[0], TextBlock)
    assert final.content[0].text == "one two"


def test_a_stream_that_the_engine_breaks_off_is_an_error(server: ServedModel) -> None:
    async def talk() -> None:
        pipeline = Pipeline(server, "one two", [1] * 30, finish_reason=None)
        async with client(pipeline).messages.stream(**asked("Hi")) as stream:
            await stream.until_done()

    with pytest.raises(anthropic.APIStatusError, match="ended before"):
        asyncio.run(talk())
