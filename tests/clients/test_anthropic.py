"""The `anthropic` package."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.clients.conftest import KEY, MODEL
from tests.clients.examples import CITY_QUESTION, CITY_TOOL, QUESTION, City

anthropic = pytest.importorskip("anthropic")

# since 2.0 the package has no argument for it
GREEDY = {"temperature": 0}
MESSAGES = [{"role": "user", "content": QUESTION}]
TOOL = {
    "name": "city",
    "description": "Report a city.",
    "input_schema": CITY_TOOL["function"]["parameters"],
}


@pytest.fixture(scope="module")
def client(url: str) -> Iterator[Any]:
    with anthropic.Anthropic(base_url=url, api_key=KEY) as opened:
        yield opened


def test_messages(client: Any) -> None:
    answer = client.messages.create(model=MODEL, messages=MESSAGES, max_tokens=32, extra_body=GREEDY)
    assert "Paris" in answer.content[0].text
    assert (answer.stop_reason, answer.usage.output_tokens > 0) == ("end_turn", True)


def test_messages_stream(client: Any) -> None:
    with client.messages.stream(model=MODEL, messages=MESSAGES, max_tokens=32, extra_body=GREEDY) as stream:
        parts = list(stream.text_stream)
        final = stream.get_final_message()
    assert len(parts) > 2
    assert "".join(parts) == final.content[0].text


@pytest.mark.parametrize("choice", [{"type": "any"}, {"type": "tool", "name": "city"}])
def test_a_forced_call(client: Any, choice: dict[str, str]) -> None:
    asked = [{"role": "user", "content": CITY_QUESTION}]
    answer = client.messages.create(
        model=MODEL, messages=asked, max_tokens=64, tools=[TOOL], tool_choice=choice, extra_body=GREEDY
    )
    (call,) = [block for block in answer.content if block.type == "tool_use"]
    City.model_validate(call.input)
    assert answer.stop_reason == "tool_use"


def test_a_forced_call_streamed(client: Any) -> None:
    asked = [{"role": "user", "content": CITY_QUESTION}]
    with client.messages.stream(
        model=MODEL, messages=asked, max_tokens=64, tools=[TOOL], tool_choice={"type": "any"}, extra_body=GREEDY
    ) as stream:
        final = stream.get_final_message()
    (call,) = [block for block in final.content if block.type == "tool_use"]
    City.model_validate(call.input)


def test_counting_tokens(client: Any) -> None:
    counted = client.messages.count_tokens(model=MODEL, messages=MESSAGES).input_tokens
    answer = client.messages.create(model=MODEL, messages=MESSAGES, max_tokens=1)
    assert counted == answer.usage.input_tokens


def test_a_last_assistant_message_is_continued(client: Any) -> None:
    begun = [*MESSAGES, {"role": "assistant", "content": "The capital of France is"}]
    answer = client.messages.create(model=MODEL, messages=begun, max_tokens=4, extra_body=GREEDY)
    assert answer.content[0].text.startswith(" Paris")


def test_errors_have_the_api_s_form(client: Any) -> None:
    with pytest.raises(anthropic.NotFoundError) as raised:
        client.messages.create(model="another", messages=MESSAGES, max_tokens=4)
    assert raised.value.body["type"] == "error"
    assert raised.value.body["error"]["type"] == "not_found_error"
