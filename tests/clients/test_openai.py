"""The `openai` package."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.clients.conftest import KEY, MODEL
from tests.clients.examples import CITY_QUESTION, CITY_TOOL, QUESTION, City, is_city

openai = pytest.importorskip("openai")

MESSAGES = [{"role": "user", "content": QUESTION}]
CITY_MESSAGES = [{"role": "user", "content": CITY_QUESTION}]
FORCED = {"type": "function", "function": {"name": "city"}}
BATCH_PATIENCE = 300
"""Seconds until a batch of two lines is given up."""


@pytest.fixture(scope="module")
def client(base_url: str) -> Iterator[Any]:
    with openai.OpenAI(base_url=base_url, api_key=KEY) as opened:
        yield opened


def test_models(client: Any) -> None:
    assert MODEL in [model.id for model in client.models.list()]
    assert client.models.retrieve(MODEL).id == MODEL
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("another")


def test_chat(client: Any) -> None:
    answer = client.chat.completions.create(model=MODEL, messages=MESSAGES, temperature=0)
    assert "Paris" in answer.choices[0].message.content
    assert answer.usage.completion_tokens > 0


def test_chat_stream(client: Any) -> None:
    with client.chat.completions.create(
        model=MODEL, messages=MESSAGES, temperature=0, stream=True, stream_options={"include_usage": True}
    ) as stream:
        chunks = list(stream)
    parts = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices]
    assert "Paris" in "".join(part or "" for part in parts)
    assert len([part for part in parts if part]) > 2
    assert chunks[-1].usage.completion_tokens > 0


def test_chat_with_a_forced_call(client: Any) -> None:
    for choice in ("required", FORCED):
        answer = client.chat.completions.create(
            model=MODEL, messages=CITY_MESSAGES, tools=[CITY_TOOL], tool_choice=choice, temperature=0
        )
        (call,) = answer.choices[0].message.tool_calls
        assert call.function.name == "city"
        assert is_city(call.function.arguments)


def test_chat_with_a_forced_call_streamed(client: Any) -> None:
    with client.chat.completions.stream(
        model=MODEL, messages=CITY_MESSAGES, tools=[CITY_TOOL], tool_choice=FORCED, temperature=0
    ) as stream:
        stream.until_done()
        (call,) = stream.get_final_completion().choices[0].message.tool_calls
    assert is_city(call.function.arguments)


WORD = {"syntax": "regex", "definition": "[a-z]{2,6}"}


def test_custom_tools_of_chat(client: Any) -> None:
    tool = {"type": "custom", "custom": {"name": "say", "format": {"type": "grammar", "grammar": WORD}}}
    asked = {"model": MODEL, "messages": CITY_MESSAGES, "tools": [tool], "tool_choice": "required", "temperature": 0}
    (call,) = client.chat.completions.create(**asked).choices[0].message.tool_calls
    assert (call.type, call.custom.name) == ("custom", "say")
    assert re.fullmatch(WORD["definition"], call.custom.input)
    told = ""
    for chunk in client.chat.completions.create(**asked, stream=True):
        for part in (chunk.choices and chunk.choices[0].delta.tool_calls) or ():
            told += part.model_extra["custom"].get("input", "")
    assert told == call.custom.input


def test_custom_tools_of_responses(client: Any) -> None:
    tool = {"type": "custom", "name": "say", "format": {"type": "grammar", **WORD}}
    answer = client.responses.create(
        model=MODEL, input=CITY_QUESTION, tools=[tool], tool_choice="required", temperature=0
    )
    (call,) = answer.output
    assert (call.type, call.name) == ("custom_tool_call", "say")
    assert re.fullmatch(WORD["definition"], call.input)


def test_chat_parse(client: Any) -> None:
    answer = client.chat.completions.parse(model=MODEL, messages=CITY_MESSAGES, response_format=City, temperature=0)
    assert isinstance(answer.choices[0].message.parsed, City)


def test_completions(client: Any) -> None:
    prompt = "The capital of France is"
    whole = client.completions.create(model=MODEL, prompt=prompt, max_tokens=8, temperature=0)
    stream = client.completions.create(model=MODEL, prompt=prompt, max_tokens=8, temperature=0, stream=True)
    assert whole.choices[0].text == "".join(chunk.choices[0].text for chunk in stream)


def test_responses(client: Any) -> None:
    answer = client.responses.create(model=MODEL, input=QUESTION, temperature=0)
    assert "Paris" in answer.output_text


def test_responses_stream(client: Any) -> None:
    with client.responses.stream(model=MODEL, input=QUESTION, temperature=0) as stream:
        deltas = [event.delta for event in stream if event.type == "response.output_text.delta"]
        final = stream.get_final_response()
    assert "".join(deltas) == final.output_text
    assert "Paris" in final.output_text


def test_responses_with_a_forced_call(client: Any) -> None:
    tool = {"type": "function", "strict": True, **CITY_TOOL["function"]}
    answer = client.responses.create(
        model=MODEL, input=CITY_QUESTION, tools=[tool], tool_choice={"type": "function", "name": "city"}, temperature=0
    )
    (call,) = [item for item in answer.output if item.type == "function_call"]
    assert is_city(call.arguments)


def test_responses_parse(client: Any) -> None:
    answer = client.responses.parse(model=MODEL, input=CITY_QUESTION, text_format=City, temperature=0)
    assert isinstance(answer.output_parsed, City)


def test_a_batch(client: Any) -> None:
    lines = [
        {
            "custom_id": f"line-{number}",
            "method": "POST",
            "url": "/v1/chat/completions",
            "body": {"model": MODEL, "messages": MESSAGES, "max_tokens": 4},
        }
        for number in range(2)
    ]
    content = "\n".join(map(json.dumps, lines)).encode()
    file = client.files.create(file=("lines.jsonl", content), purpose="batch")
    batch = client.batches.create(
        input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h", metadata={"a": "b"}
    )
    given_up = time.monotonic() + BATCH_PATIENCE
    while batch.status not in ("completed", "failed") and time.monotonic() < given_up:
        time.sleep(0.5)
        batch = client.batches.retrieve(batch.id)
    assert (batch.status, batch.request_counts.completed) == ("completed", 2)
    results = [json.loads(line) for line in client.files.content(batch.output_file_id).text.splitlines()]
    assert sorted(result["custom_id"] for result in results) == ["line-0", "line-1"]
    assert client.files.delete(file.id).deleted


def test_a_wrong_model_is_not_found(client: Any) -> None:
    with pytest.raises(openai.NotFoundError, match="does not exist"):
        client.chat.completions.create(model="another", messages=MESSAGES)


def test_a_bad_value_is_a_bad_request(client: Any) -> None:
    with pytest.raises(openai.BadRequestError, match="temperature"):
        client.chat.completions.create(model=MODEL, messages=MESSAGES, temperature=-1)
