"""The official OpenAI client reads our responses: as objects, as streams, and as input of the next turn."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx2
import openai
import pytest
from openai.types.responses import Response, ResponseFunctionToolCall
from pydantic import BaseModel

from renderlayer.served_model import ServedModel
from tests.derender.pipeline import Pipeline
from tests.derender.telling import ANSWER, RESPONSES

TOOL: Any = {**RESPONSES["tools"][0], "strict": True}
FORMS = pytest.mark.parametrize("by_chunk", [False, True])


class Point(BaseModel):
    x: int
    y: int


def client(pipeline: Pipeline) -> openai.AsyncOpenAI:
    http = httpx2.AsyncClient(transport=pipeline)
    return openai.AsyncOpenAI(base_url="http://pipeline/v1", api_key="key", http_client=http, max_retries=0)


def test_a_response_and_the_next_turn(parsed_server: ServedModel) -> None:
    pipeline = Pipeline(parsed_server, ANSWER)

    async def talk() -> tuple[Response, Response]:
        one = client(pipeline)
        first = await one.responses.create(model="small", input="Weather?", tools=[TOOL])
        outputs: list[Any] = [
            {"type": "function_call_output", "call_id": item.call_id, "output": "21 °C"}
            for item in first.output
            if isinstance(item, ResponseFunctionToolCall)
        ]
        turns: list[Any] = [{"role": "user", "content": "Weather?"}, *first.output, *outputs]
        return first, await one.responses.create(model="small", input=turns, tools=[TOOL])

    first, second = asyncio.run(talk())

    assert [item.type for item in first.output] == ["reasoning", "message", "function_call", "function_call"]
    assert first.output_text == "\n\nHello Köln 😀\n"
    assert first.usage is not None
    assert first.usage.output_tokens_details.reasoning_tokens > 0
    assert second.status == "completed"
    assert 'Hello Köln 😀\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}' in pipeline.prompts[1]
    assert pipeline.prompts[1].count("<|im_start|>tool\n21 °C") == 2


@FORMS
def test_the_stream_helper(parsed_server: ServedModel, by_chunk: bool) -> None:
    async def talk() -> tuple[list[Any], Any]:
        pipeline = Pipeline(parsed_server, ANSWER, [3] * 100, by_chunk)
        async with client(pipeline).responses.stream(model="small", input="Weather?", tools=[TOOL]) as stream:
            told = [event async for event in stream]
            return told, await stream.get_final_response()

    told, final = asyncio.run(talk())
    text = "".join(event.delta for event in told if event.type == "response.output_text.delta")

    assert text == final.output_text == "\n\nHello Köln 😀\n"
    assert [item.type for item in final.output] == ["reasoning", "message", "function_call", "function_call"]
    assert final.output[2].parsed_arguments == {"city": "Paris"}
    assert [event.sequence_number for event in told] == list(range(len(told)))


@FORMS
def test_structured_output_is_parsed(server: ServedModel, by_chunk: bool) -> None:
    async def talk() -> tuple[Any, Any]:
        one = client(Pipeline(server, '{"x": 1, "y": 2}', [2] * 20, by_chunk))
        whole = await one.responses.parse(model="small", input="A point", text_format=Point)
        async with one.responses.stream(model="small", input="A point", text_format=Point) as stream:
            return whole, await stream.get_final_response()

    whole, streamed = asyncio.run(talk())

    assert whole.output_parsed == streamed.output_parsed == Point(x=1, y=2)


@FORMS
def test_a_response_that_is_cut_off(server: ServedModel, by_chunk: bool) -> None:
    async def talk() -> tuple[Response, list[Any]]:
        one = client(Pipeline(server, "Hello there", [1] * 9, by_chunk, finish_reason="length"))
        whole = await one.responses.create(model="small", input="Hi")
        return whole, [event async for event in await one.responses.create(model="small", input="Hi", stream=True)]

    whole, told = asyncio.run(talk())

    assert whole.status == "incomplete"
    assert whole.incomplete_details is not None
    assert whole.incomplete_details.reason == "max_output_tokens"
    assert told[-1].type == "response.incomplete"
    assert json.loads(told[-1].response.model_dump_json())["output"][0]["status"] == "incomplete"


def test_our_errors_are_the_clients(server: ServedModel) -> None:
    async def talk() -> None:
        await client(Pipeline(server, "Hi")).responses.create(model="small", input="Hi", previous_response_id="resp_1")

    with pytest.raises(openai.BadRequestError) as caught:
        asyncio.run(talk())
    assert caught.value.param == "previous_response_id"
