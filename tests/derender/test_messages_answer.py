"""`/v1/messages/derender`: blocks, stop reasons and usage of a Message; its events, however the stream is cut."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from renderlayer.derender.events.messages_answer import derender_messages, stream_messages
from renderlayer.errors import BadRequest, NotFound, RenderLayerError, ValidationFailed
from renderlayer.served_model import ServedModel
from tests.derender.engine import PROMPT, Json, choice, encoded, response
from tests.derender.telling import ANSWER, MESSAGES, chunked, cut, whole

SIZES = st.lists(st.integers(1, 12), max_size=80)


def answer(server: ServedModel, text: str, finish_reason: str = "stop", **body: Any) -> Json:
    return whole(derender_messages, server, text, finish_reason, **{"messages_request": MESSAGES, **body})


def streamed(server: ServedModel, stream: list[Json], request: Json = MESSAGES) -> list[Json]:
    preamble = {"messages_request": request, "prompt_token_ids": encoded(server, PROMPT)}
    return list(stream_messages([preamble, *stream], server))


def put_together(told: list[Json]) -> Json:
    """The message that a stream's events make up."""
    message: Json = {}
    for data in (event["data"] for event in told):
        if data["type"] == "message_start":
            message = {**data["message"], "content": []}
        elif data["type"] == "content_block_start":
            message["content"].append({**data["content_block"], "json": ""})
        elif data["type"] == "content_block_delta":
            block, delta = message["content"][data["index"]], data["delta"]
            key = {"text_delta": "text", "thinking_delta": "thinking"}.get(delta["type"], "json")
            block[key] += delta.get(key, delta.get("partial_json"))
        elif data["type"] == "message_delta":
            message |= {**data["delta"], "usage": data["usage"]}
    for block in message["content"]:
        text = block.pop("json")
        if block["type"] == "tool_use":
            block["input"] = json.loads(text) if text else {}
    return message


def test_a_whole_answer(parsed_server: ServedModel) -> None:
    told = answer(parsed_server, ANSWER)
    thinking, text, first, second = told["content"]

    assert (told["id"], told["type"], told["role"], told["model"]) == ("msg_1", "message", "assistant", "small")
    assert thinking == {"type": "thinking", "thinking": "\nLet me see.\n", "signature": ""}
    assert text == {"type": "text", "text": "\n\nHello Köln 😀\n"}
    assert (first["type"], first["name"], first["input"]) == ("tool_use", "get_weather", {"city": "Paris"})
    assert second["input"] == {"city": "Rome", "days": [1, 2]}
    assert (told["stop_reason"], told["stop_sequence"]) == ("tool_use", None)


@pytest.mark.parametrize(
    ("finish_reason", "stop_reason", "stops", "expected", "text"),
    [
        ("stop", None, [], ("end_turn", None), "Hello there"),
        ("stop", 7, ["there"], ("end_turn", None), "Hello there"),
        ("stop", "there", ["there"], ("stop_sequence", "there"), "Hello "),
        ("stop", None, ["there"], ("stop_sequence", "there"), "Hello "),
        ("length", None, ["there"], ("max_tokens", None), "Hello there"),
        ("abort", None, [], (None, None), "Hello there"),
    ],
)
def test_why_it_stopped(
    server: ServedModel, finish_reason: str, stop_reason: Any, stops: list[str], expected: tuple[Any, Any], text: str
) -> None:
    request = {**MESSAGES, "stop_sequences": stops}
    extra = {"stop_reason": stop_reason}
    told = answer(server, "Hello there", finish_reason, messages_request=request, choice=extra)
    stream = cut(server, "Hello there", [1] * 9, finish_reason, **extra)

    assert (told["stop_reason"], told["stop_sequence"]) == expected
    assert told["content"] == [{"type": "text", "text": text}]
    assert put_together(streamed(server, stream, request)) == told


def test_cached_tokens_are_no_input_tokens(server: ServedModel) -> None:
    usage = {"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 4}}
    generated = response(choice(encoded(server, "Hi")), usage=usage)
    told = derender_messages({"generate_response": generated, "messages_request": MESSAGES}, server)

    assert told["usage"] == {
        "input_tokens": 5,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 4,
        "output_tokens": len(encoded(server, "Hi")),
        "output_tokens_details": None,
    }


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ('{"city": "Paris", "days": [1, 2', {"city": "Paris", "days": [1, 2]}),
        ('{"city": "Par', {"city": "Par"}),
        ('{"city": "Paris", "da', {"city": "Paris"}),
        ('{"city": "Paris"}', {"city": "Paris"}),
    ],
)
def test_cut_off_arguments_are_closed(parsed_server: ServedModel, arguments: str, expected: Json) -> None:
    text = f'<tool_call>\n{{"name": "get_weather", "arguments": {arguments}'
    told = answer(parsed_server, text, "length")

    assert [block["input"] for block in told["content"]] == [expected]
    assert told["stop_reason"] == "max_tokens"


def test_thinking_is_counted(parsed_server: ServedModel) -> None:
    details = answer(parsed_server, "<think>a b</think>c")["usage"]["output_tokens_details"]

    assert details == {"thinking_tokens": len(encoded(parsed_server, "<think>a b"))}


@settings(max_examples=25, deadline=None)
@given(sizes=SIZES, text=st.sampled_from([ANSWER, " \n ", "plain text", "<think>cut", "<think></think>\n\nHi", ""]))
def test_chunks_streams_and_whole_answers_agree(parsed_server: ServedModel, sizes: list[int], text: str) -> None:
    text = text or "<|im_end|>"
    stream = cut(parsed_server, text, sizes)
    told, states = chunked(derender_messages, parsed_server, stream, {"messages_request": MESSAGES})

    assert told == streamed(parsed_server, stream)
    assert put_together(told) == answer(parsed_server, text)
    assert all(list(state) == ["resume"] and len(state["resume"]) < 1500 for state in states)


def test_stop_sequences_are_held_back_across_calls(server: ServedModel) -> None:
    request = {**MESSAGES, "stop_sequences": ["\n\nHuman:"]}
    stream = cut(server, "one two\n\nHuman:", [1] * 30, stop_reason="\n\nHuman:")
    told, _ = chunked(derender_messages, server, stream, {"messages_request": request})
    message = put_together(told)

    assert message["content"] == [{"type": "text", "text": "one two"}]
    assert (message["stop_reason"], message["stop_sequence"]) == ("stop_sequence", "\n\nHuman:")


def test_the_events_of_a_short_answer(server: ServedModel) -> None:
    told = streamed(server, cut(server, "Hi", []))

    assert [event["event"] for event in told] == [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    assert all(event["data"]["type"] == event["event"] for event in told)


@pytest.mark.parametrize(("code", "kind"), [(503, "overloaded_error"), (404, "not_found_error"), (None, "api_error")])
def test_errors_of_the_engine_are_told_as_the_api_tells_them(server: ServedModel, code: int | None, kind: str) -> None:
    first = cut(server, "Hello there", [1])[:1]
    failed = streamed(server, [*first, {"error": {"message": "no", "code": code}}])[-1]

    assert failed == {
        "event": "error",
        "data": {"type": "error", "error": {"type": kind, "message": "no"}},
    }
    assert streamed(server, first)[-1]["event"] == "error"


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({"messages_request": None}, ValidationFailed),
        ({"model": "nope"}, NotFound),
        ({"generate_response": response(choice([1]), choice([1]))}, BadRequest),
        ({"generate_response": response(choice(None))}, BadRequest),
        ({"stream": True, "generate_chunk": response(choice([1]), choice([1]))}, BadRequest),
        ({"stream": True, "generate_chunk": response(choice([1])), "messages_request": None}, BadRequest),
        ({"stream": True, "generate_chunk": response(), "stream_state": {"resume": "1.AAAA"}}, BadRequest),
    ],
)
def test_refusals(server: ServedModel, body: Json, error: type[RenderLayerError]) -> None:
    with pytest.raises(error):
        derender_messages({"generate_response": response(choice([1])), "messages_request": MESSAGES, **body}, server)
