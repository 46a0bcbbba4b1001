"""`/v1/responses/derender`: items, status and usage of a Response; its events, however the engine cuts its stream."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from renderlayer.derender.events.responses import derender_responses, stream_responses
from renderlayer.errors import BadRequest, NotFound, RenderLayerError, ValidationFailed
from renderlayer.served_model import ServedModel
from tests.derender.engine import PROMPT, Json, choice, encoded, events, logprobs, response
from tests.derender.telling import ANSWER, RESPONSES, chunked, cut, whole

SIZES = st.lists(st.integers(1, 12), max_size=80)
LOGPROBS = {"include": ["message.output_text.logprobs"], "top_logprobs": 1}
GROUPED: Json = {
    **RESPONSES,
    "tools": [
        {"type": "custom", "name": "shell"},
        {"type": "namespace", "name": "crm", "description": "", "tools": [{"type": "function", "name": "find"}]},
    ],
}
SHELL = '<tool_call>\n{"name": "shell", "arguments": {"input": "ls \\"a\\""}}\n</tool_call>'
FIND = '<tool_call>\n{"name": "crm__find", "arguments": {"q": 1}}\n</tool_call>'


def answer(server: ServedModel, text: str, finish_reason: str = "stop", **body: Any) -> Json:
    return whole(derender_responses, server, text, finish_reason, **{"responses_request": RESPONSES, **body})


def streamed(server: ServedModel, stream: list[Json], request: Json = RESPONSES) -> list[Json]:
    preamble = {"responses_request": request, "prompt_token_ids": encoded(server, PROMPT)}
    return list(stream_responses([preamble, *stream], server))


def timeless(value: Any) -> Any:
    """Without the time of creation, which is now."""
    return json.loads(
        json.dumps(value), object_hook=lambda found: {k: v for k, v in found.items() if k != "created_at"}
    )


def test_a_whole_answer(parsed_server: ServedModel) -> None:
    told = answer(parsed_server, ANSWER)
    thinking, message, first, second = told["output"]

    assert (told["id"], told["object"], told["status"], told["model"]) == ("resp_1", "response", "completed", "small")
    assert thinking["content"] == [{"type": "reasoning_text", "text": "\nLet me see.\n"}]
    assert message["content"][0]["text"] == "\n\nHello Köln 😀\n"
    assert (first["name"], json.loads(first["arguments"])) == ("get_weather", {"city": "Paris"})
    assert json.loads(second["arguments"]) == {"city": "Rome", "days": [1, 2]}
    assert {item["status"] for item in told["output"]} == {"completed"}
    assert len({item["id"] for item in told["output"]} | {first["call_id"], second["call_id"]}) == 6


def test_usage_counts_reasoning_and_cache(parsed_server: ServedModel) -> None:
    ids = encoded(parsed_server, ANSWER)
    details = {"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 5}}
    generated = response(choice(ids), usage=details)
    told = derender_responses({"generate_response": generated, "responses_request": RESPONSES}, parsed_server)
    thoughts = len(encoded(parsed_server, "<think>\nLet me see.\n"))

    assert told["usage"] == {
        "input_tokens": 9,
        "input_tokens_details": {"cached_tokens": 5, "cache_write_tokens": 0},
        "output_tokens": len(ids),
        "output_tokens_details": {"reasoning_tokens": thoughts},
        "total_tokens": 9 + len(ids),
    }


def test_the_request_is_echoed(server: ServedModel) -> None:
    request = {
        **RESPONSES,
        "instructions": "Be terse.",
        "temperature": 0.1,
        "reasoning": {"effort": "low"},
        "user": "u",
    }
    told = answer(server, "Hi", responses_request=request)

    assert (told["instructions"], told["temperature"], told["user"]) == ("Be terse.", 0.1, "u")
    assert told["reasoning"] == {"effort": "low", "summary": None}
    assert told["tools"] == RESPONSES["tools"]
    assert answer(server, "Hi")["temperature"] == 0.6


@pytest.mark.parametrize(
    ("finish_reason", "status", "details", "item"),
    [
        ("stop", "completed", None, "completed"),
        ("length", "incomplete", {"reason": "max_output_tokens"}, "incomplete"),
        ("abort", "incomplete", {"reason": None}, "incomplete"),
        ("error", "failed", None, "incomplete"),
    ],
)
def test_how_it_ended(server: ServedModel, finish_reason: str, status: str, details: Any, item: str) -> None:
    told = answer(server, "Hello there", finish_reason)
    last = streamed(server, cut(server, "Hello there", [1], finish_reason))[-1]

    assert (told["status"], told["incomplete_details"]) == (status, details)
    assert told["output"][0]["status"] == item
    assert (told["error"] is not None) == (status == "failed")
    assert last["event"] == f"response.{status}"


def test_custom_tools_and_namespaces_come_back_as_they_were_declared(parsed_server: ServedModel) -> None:
    told = answer(parsed_server, SHELL + FIND, responses_request=GROUPED)
    shell, find = told["output"]

    assert (shell["type"], shell["name"], shell["input"]) == ("custom_tool_call", "shell", 'ls "a"')
    assert (find["type"], find["namespace"], find["name"]) == ("function_call", "crm", "find")
    names = {event["event"] for event in streamed(parsed_server, cut(parsed_server, SHELL, [3] * 20), GROUPED)}
    assert {"response.custom_tool_call_input.delta", "response.custom_tool_call_input.done"} <= names


def test_one_call_where_parallel_calls_are_off(parsed_server: ServedModel) -> None:
    told = answer(parsed_server, ANSWER, responses_request={**RESPONSES, "parallel_tool_calls": False})

    assert [item["type"] for item in told["output"]] == ["reasoning", "message", "function_call"]


def test_logprobs_are_those_of_the_text(parsed_server: ServedModel) -> None:
    text = "<think>a</think>Hello world"
    ids = encoded(parsed_server, text + "<|im_end|>")
    request = {**RESPONSES, **LOGPROBS}
    generated = response(choice(ids, logprobs=logprobs(ids, 2)))
    told = derender_responses(
        {"generate_response": generated, "prompt_token_ids": [1], "responses_request": request}, parsed_server
    )
    rows = told["output"][1]["content"][0]["logprobs"]
    stream = [{**one, "logprobs": None} for one in events([ids])]

    assert "".join(row["token"] for row in rows) == "Hello world"
    assert all(len(row["top_logprobs"]) == 1 for row in rows)
    assert answer(parsed_server, text)["output"][1]["content"][0]["logprobs"] == []
    assert streamed(parsed_server, stream, request)[-1]["data"]["response"]["output"][1]["content"][0]["logprobs"] == []


def test_the_order_of_events(parsed_server: ServedModel) -> None:
    text = '<think>a</think>Hi<tool_call>\n{"name": "get_weather", "arguments": {}}\n</tool_call>'
    told = streamed(parsed_server, cut(parsed_server, text, []))

    assert [event["event"].removeprefix("response.") for event in told] == [
        "created",
        "in_progress",
        "output_item.added",
        "content_part.added",
        "reasoning_text.delta",
        "reasoning_text.done",
        "content_part.done",
        "output_item.done",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "output_item.added",
        "function_call_arguments.delta",
        "function_call_arguments.done",
        "output_item.done",
        "completed",
    ]
    assert [event["data"]["sequence_number"] for event in told] == list(range(len(told)))
    assert all(event["data"]["type"] == event["event"] for event in told)


@settings(max_examples=25, deadline=None)
@given(
    sizes=SIZES, text=st.sampled_from([ANSWER, "  \n", "plain text", "<think>cut", ANSWER[:-40], SHELL + FIND + "ok"])
)
def test_chunks_streams_and_whole_answers_agree(parsed_server: ServedModel, sizes: list[int], text: str) -> None:
    request = {**GROUPED, **LOGPROBS, "tools": [*RESPONSES["tools"], *GROUPED["tools"]]}
    stream = []
    for event in cut(parsed_server, text, sizes):
        token_ids = event["choices"][0]["token_ids"]
        stream.append({**event, "choices": [{**event["choices"][0], "logprobs": logprobs(token_ids, 2)}]})
    ids = encoded(parsed_server, text)
    told, _ = chunked(derender_responses, parsed_server, stream, responses_request=request)
    final = answer(parsed_server, text, responses_request=request, choice={"logprobs": logprobs(ids, 2)})

    assert timeless(told) == timeless(streamed(parsed_server, stream, request))
    assert timeless(told[-1]["data"]["response"]) == timeless(final)
    items = [event["data"]["item"] for event in told if event["event"] == "response.output_item.done"]
    assert items == final["output"]
    for index, item in enumerate(items):
        said = "".join(event["data"].get("delta", "") for event in told if event["data"].get("output_index") == index)
        assert said == item.get("arguments", item.get("input", "".join(p["text"] for p in item.get("content", ()))))


def test_the_state_is_small_where_closing_events_need_not_repeat(parsed_server: ServedModel) -> None:
    text = "<think>" + "word " * 400 + "</think>" + "word " * 400
    stream = cut(parsed_server, text, [4] * 1000)
    told, states = chunked(derender_responses, parsed_server, stream, responses_request=RESPONSES, repeat_output=False)
    said = "".join(event["data"]["delta"] for event in told if event["event"] == "response.output_text.delta")

    assert max(len(json.dumps(state)) for state in states) < 1500
    assert said == "word " * 400
    assert told[-1]["data"]["response"]["output"] is None


def test_stop_strings_are_held_back_across_calls(server: ServedModel) -> None:
    request = {**RESPONSES, "stop": ["END"]}
    stream = cut(server, "one two END", [1] * 20, stop_reason="END")
    told, _ = chunked(derender_responses, server, stream, responses_request=request)

    assert told[-1]["data"]["response"]["output"][0]["content"][0]["text"] == "one two "


def test_after_the_end_nothing_more_is_told(server: ServedModel) -> None:
    tail = response(usage={"prompt_tokens": 3, "completion_tokens": 1})
    told, _ = chunked(derender_responses, server, [*cut(server, "Hi", []), tail], responses_request=RESPONSES)

    assert told[-1]["event"] == "response.completed"


def test_errors_of_the_engine_are_told_as_the_api_tells_them(server: ServedModel) -> None:
    first = cut(server, "Hello there", [1])[:1]
    failed = streamed(server, [*first, {"error": {"message": "out of memory", "code": 503, "type": "x"}}])[-1]
    ended = streamed(server, first)[-1]

    assert failed["event"] == "error"
    assert (failed["data"]["message"], failed["data"]["code"]) == ("out of memory", "x")
    assert ended["event"] == "error"
    with pytest.raises(RenderLayerError, match="out of memory"):
        streamed(server, [{"error": {"message": "out of memory"}}])


@pytest.mark.parametrize(
    ("body", "error", "param"),
    [
        ({"responses_request": {}}, ValidationFailed, "body.responses_request.input"),
        ({"responses_request": None}, ValidationFailed, "body.responses_request"),
        ({"model": "nope"}, NotFound, "model"),
        ({"generate_response": response()}, BadRequest, None),
        ({"generate_response": response(choice([1]), choice([1]))}, BadRequest, None),
        ({"generate_response": response(choice([]))}, BadRequest, None),
        ({"stream": True}, ValidationFailed, "body.generate_chunk"),
    ],
)
def test_refusals(server: ServedModel, body: Json, error: type[RenderLayerError], param: str | None) -> None:
    call = {"generate_response": response(choice([1])), "responses_request": RESPONSES, **body}
    with pytest.raises(error) as caught:
        derender_responses(call, server)

    assert caught.value.param == param


def test_a_stream_that_is_parsed_needs_its_prompt(parsed_server: ServedModel) -> None:
    event = next(events([[1]]))
    with pytest.raises(BadRequest, match="prompt_token_ids is required"):
        derender_responses({"stream": True, "generate_chunk": event, "responses_request": RESPONSES}, parsed_server)


@pytest.mark.parametrize(
    "output",
    [
        [],
        [{"type": "message"}],
        [{"type": "magic", "id": "x"}],
        [{"type": ["message"], "id": "x"}],
        [{"type": {}, "id": "x", "content": [{"text": "", "logprobs": []}]}],
        [{"id": "x", "type": "message", "content": [{"text": "", "logprobs": [1]}]}],
        [{"id": "x", "type": "message", "content": [[]]}],
        [{"id": "x", "type": "message", "content": [{"text": 3, "logprobs": []}]}],
        [{"id": "x", "type": "reasoning", "content": [{"text": ""}]}],
        [{"id": "x", "type": "function_call", "call_id": "c", "name": "f"}],
    ],
)
def test_a_state_that_was_tampered_with_is_refused(server: ServedModel, output: list[Json]) -> None:
    first, second = cut(server, "Hello there", [1])
    _, states = chunked(derender_responses, server, [first], responses_request=RESPONSES)
    body = {"stream": True, "generate_chunk": second, "responses_request": RESPONSES}

    with pytest.raises(BadRequest, match="stream_state"):
        derender_responses({**body, "stream_state": {**states[-1], "output": output}}, server)
    with pytest.raises(BadRequest, match="stream_state"):
        derender_responses({**body, "stream_state": {**states[-1], "resume": states[-1]["resume"][:-4]}}, server)
