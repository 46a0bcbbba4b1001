"""Whole generate streams in, whole OpenAI streams out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from renderlayer.derender import ChatStream, derender_chat, stream_chat, stream_completion
from renderlayer.derender.core import sse
from renderlayer.errors import BadRequest, ValidationFailed
from renderlayer.served_model import ServedModel
from renderlayer.wire.chat import ChatCompletionRequest
from renderlayer.wire.common.base import parse
from tests.derender.client import put_together
from tests.derender.engine import PROMPT, Json, choice, encoded, events, response, split

TOOLS = [{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}]
REQUEST: Json = {"messages": [{"role": "user", "content": "Hello"}], "tools": TOOLS}
ANSWER = '<think>Hm.</think>Yes 😂.<tool_call>\n{"name": "get_weather", "arguments": {"a": 1}}\n</tool_call><|im_end|>'
USAGE = {"prompt_tokens": 4, "completion_tokens": 9, "total_tokens": 13}


def opened(server: ServedModel, request: Json = REQUEST) -> Json:
    """The event that may stand before a stream."""
    return {"chat_request": request, "prompt_token_ids": encoded(server, PROMPT), "model": "small"}


def woven(*streams: Iterator[Json]) -> Iterator[Json]:
    """Events of several sequences, in turn."""
    waiting = list(streams)
    while waiting:
        for stream in list(waiting):
            event = next(stream, None)
            if event is None:
                waiting.remove(stream)
            else:
                yield event


def test_several_sequences_and_the_usage(parsed_server: ServedModel) -> None:
    token_ids = encoded(parsed_server, ANSWER)
    short = encoded(parsed_server, "<think></think>No.")
    stream = woven(events(split(token_ids, [1] * 99)), events(split(short, [2] * 99), "length", index=1))
    usage = {"request_id": "generate-tokens-1", "choices": [], "usage": USAGE}
    chunks = list(stream_chat([opened(parsed_server), *stream, usage], parsed_server))

    first, second = put_together(chunks), put_together(chunks, 1)
    assert (first["role"], first["reasoning"], first["content"]) == ("assistant", "Hm.", "Yes 😂.")
    assert [call["arguments"] for call in first["calls"]] == ['{"a": 1}']
    assert (first["finish_reason"], second["finish_reason"]) == ("tool_calls", "length")
    assert (second["role"], second["content"]) == ("assistant", "No.")
    assert chunks[-1]["choices"] == [] and chunks[-1]["usage"]["completion_tokens"] == 9
    assert len({chunk["created"] for chunk in chunks}) == 1
    for chunk in chunks[:-1]:
        (told,) = chunk["choices"]
        assert any(told["delta"].values()) or told["finish_reason"]


@settings(deadline=None, max_examples=60)
@given(
    parts=st.lists(st.sampled_from(["one ", "two", "tw", "o three ", "客单价", "!"]), min_size=1, max_size=8),
    sizes=st.lists(st.integers(1, 4), max_size=20),
    include=st.booleans(),
    min_tokens=st.integers(0, 9),
)
def test_stop_strings_are_held_back(
    server: ServedModel, parts: list[str], sizes: list[int], include: bool, min_tokens: int
) -> None:
    token_ids = encoded(server, "".join(parts))
    request = {
        "messages": REQUEST["messages"],
        "stop": ["two", "o thr"],
        "include_stop_str_in_output": include,
        "min_tokens": min_tokens,
    }
    whole = derender_chat({"generate_response": response(choice(token_ids)), "chat_request": request}, server)
    stream = [{"chat_request": request}, *events(split(token_ids, sizes))]
    chunks = list(stream_chat(stream, server))

    assert put_together(chunks)["content"] == whole["choices"][0]["message"]["content"]
    assert chunks[-1]["choices"][0]["stop_reason"] == whole["choices"][0]["stop_reason"]


def test_completions_of_a_later_prompt(server: ServedModel) -> None:
    token_ids = encoded(server, "Yes, it is.<|im_end|>")
    request = {"completion_request": {"prompt": "x", "stop": "is"}, "prompt_tokens": 3}
    stream = [request, *events(split(token_ids, [1] * 99)), {"choices": [], "usage": USAGE}]
    chunks = list(stream_completion(stream, server))

    assert put_together(chunks)["text"] == "Yes, it "
    assert chunks[-1]["usage"]["prompt_tokens"] == 3
    assert {chunk["object"] for chunk in chunks} == {"text_completion"}


def test_the_prompt_may_come_with_the_first_event(parsed_server: ServedModel) -> None:
    opened_thought = encoded(parsed_server, PROMPT + "<think>\n\n</think>\n\n")
    first = response(choice(encoded(parsed_server, "Yes"), None), prompt_token_ids=opened_thought)
    stream = [{"chat_request": REQUEST}, first, *events([encoded(parsed_server, ".")])]

    assert put_together(stream_chat(stream, parsed_server))["content"] == "Yes."


def test_an_error_of_the_engine_is_told_and_ends_the_stream(server: ServedModel) -> None:
    error = {"error": {"message": "lost", "type": "InternalServerError", "param": None, "code": 500}}
    chunks = list(stream_chat([response(choice([5], None)), error, response(choice([6]))], server))

    assert len(chunks) == 2
    assert chunks[-1] == error


@pytest.mark.parametrize(
    ("stream", "error", "message"),
    [
        ([response(choice([1]))], BadRequest, "chat_request is required"),
        ([{"chat_request": REQUEST}, response(choice([1]))], BadRequest, "prompt_token_ids is required"),
        ([{"chat_request": REQUEST}, {"choices": [{}]}], ValidationFailed, "generate_chunk.choices.0.index"),
        ([{"chat_request": REQUEST, "prompt_token_ids": [1]}, *events([[1] * 4000] * 2)], BadRequest, "exceeds"),
        ([{"model": "other"}], Exception, "does not exist"),
        (["text"], ValidationFailed, "generate_chunk"),
    ],
    ids=["no request", "no prompt", "no event", "too long", "model", "no object"],
)
def test_streams_that_cannot_be_read_are_refused(
    parsed_server: ServedModel, stream: list[Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        list(stream_chat(stream, parsed_server))


def test_event_by_event(parsed_server: ServedModel) -> None:
    stream = ChatStream(
        parsed_server, parse(ChatCompletionRequest, REQUEST), prompt_token_ids=encoded(parsed_server, PROMPT)
    )
    told = [stream.step(event) for event in events(split(encoded(parsed_server, ANSWER), [1] * 99))]

    assert None in told
    assert put_together(chunk for chunk in told if chunk is not None)["content"] == "Yes 😂."


@settings(deadline=None, max_examples=100)
@given(
    values=st.lists(st.dictionaries(st.text(), st.text(st.characters(codec="utf-8"))) | st.integers(), max_size=5),
    cuts=st.lists(st.integers(0, 400), max_size=9),
)
def test_events_are_read_as_they_were_written(values: list[Any], cuts: list[int]) -> None:
    body = b"".join(map(sse.event, values)) + sse.DONE + b"data: 1\n\n"
    ends = [*sorted(cut % (len(body) + 1) for cut in cuts), len(body)]
    parts = [body[start:end] for start, end in zip([0, *ends], ends, strict=False)]

    assert list(sse.values(parts)) == values


def test_other_writers_of_events() -> None:
    body = b': comment\r\nevent: chunk\r\ndata:{"a":\r\ndata: 1}\r\n\r\n\r\ndata: 2'

    assert list(sse.values([body])) == [{"a": 1}, 2]


@pytest.mark.parametrize("data", [b"data: {\n\n", b"data: " + b"[" * 100_000 + b"\n\n"], ids=["cut", "deep"])
def test_events_that_are_no_json_are_refused(data: bytes) -> None:
    with pytest.raises(ValidationFailed):
        list(sse.values([data]))
