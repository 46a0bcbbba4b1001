"""Chat streams, one call an event: the concatenation is the whole answer, and the state carries all that is needed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from renderlayer.derender import derender_chat
from renderlayer.errors import BadRequest, RenderLayerError, ValidationFailed
from renderlayer.served_model import ServedModel
from tests.derender.client import put_together, replayed
from tests.derender.engine import PROMPT, Json, choice, encoded, events, logprobs, response, split
from tests.parsers.hostility import seconds

TOOLS = [{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}]
REQUEST: Json = {"messages": [{"role": "user", "content": "Hello"}], "tools": TOOLS}
CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call>'
ANSWER = f"<think>Hm, 客单价?</think>Let me see 😂.{CALL}<|im_end|>"

PARTS = st.sampled_from(
    [*("<think>", "</think>", "<tool_call>", "</tool_call>", CALL, CALL[:40], "Hello", " ", "\n", '{"a": 1}')]
)
TEXTS = st.lists(PARTS | st.text(st.characters(codec="utf-8"), max_size=6), max_size=8).map("".join)
SIZES = st.lists(st.integers(1, 7), max_size=30)


def opening(server: ServedModel, request: Json = REQUEST) -> Json:
    """What the first call of a stream brings."""
    return {"chat_request": request, "prompt_token_ids": encoded(server, PROMPT)}


def whole(server: ServedModel, token_ids: list[int], finish_reason: str, request: Json = REQUEST) -> Json:
    body = {"generate_response": response(choice(token_ids, finish_reason)), **opening(server, request)}
    return derender_chat(body, server)["choices"][0]  # type: ignore[no-any-return]


@settings(deadline=None, max_examples=120)
@given(text=TEXTS, sizes=SIZES, finish_reason=st.sampled_from(["stop", "length"]))
def test_every_chunking_is_the_whole_answer(
    server: ServedModel, parsed_server: ServedModel, text: str, sizes: list[int], finish_reason: str
) -> None:
    token_ids = encoded(server, text) or [1]
    for served in (server, parsed_server):
        answer = whole(served, token_ids, finish_reason)
        streamed = put_together(replayed(events(split(token_ids, sizes), finish_reason), served, opening(served)))
        message = answer["message"]

        assert streamed["role"] == "assistant"
        assert streamed["finish_reason"] == answer["finish_reason"]
        assert streamed["reasoning"].strip() == (message["reasoning"] or "").strip()
        assert streamed["content"].strip() == (message["content"] or "").strip()
        assert streamed["calls"] == [{"id": call["id"], **call["function"]} for call in message.get("tool_calls", ())]


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_the_request_and_the_prompt_are_needed_once(parsed_server: ServedModel, size: int) -> None:
    chunks = split(encoded(parsed_server, ANSWER), [size] * 200)
    once = replayed(events(chunks), parsed_server, opening(parsed_server))
    always = replayed(events(chunks), parsed_server, always=opening(parsed_server))

    assert put_together(once) == put_together(always)
    message = put_together(once)
    assert (message["reasoning"], message["content"]) == ("Hm, 客单价?", "Let me see 😂.")
    assert [call["name"] for call in message["calls"]] == ["get_weather"]


def test_what_the_request_decides_travels_without_a_parser_too(server: ServedModel) -> None:
    token_ids = encoded(server, "a<|endoftext|>b!")
    request = {
        "messages": [{"role": "user", "content": "x"}],
        "skip_special_tokens": False,
        "return_token_ids": True,
        "stop_token_ids": token_ids[-1:],
    }
    chunks = replayed(events(split(token_ids, [1] * 9)), server, {"chat_request": request})

    assert put_together(chunks)["content"] == "a<|endoftext|>b"
    assert [entry for chunk in chunks for entry in chunk["choices"][0]["token_ids"]] == token_ids
    assert chunks[-1]["choices"][0]["stop_reason"] == token_ids[-1]


def test_the_shape_of_a_chunk(parsed_server: ServedModel) -> None:
    event = response(choice(encoded(parsed_server, "<think></think>" + CALL), None), prompt_token_ids=[1])
    request = {**REQUEST, "return_token_ids": True}
    answer = derender_chat({"stream": True, "generate_chunk": event, **opening(parsed_server, request)}, parsed_server)

    assert list(answer) == ["chunk", "stream_state"]
    assert list(answer["chunk"]) == [
        *("id", "object", "created", "model", "choices", "usage", "system_fingerprint", "prompt_token_ids"),
        *("prompt_text", "metrics", "kv_transfer_params"),
    ]
    (told,) = answer["chunk"]["choices"]
    assert list(told) == ["index", "delta", "logprobs", "finish_reason", "stop_reason", "token_ids", "weight_versions"]
    assert list(told["delta"]) == ["role", "content", "reasoning", "tool_calls"]
    (call,) = told["delta"]["tool_calls"]
    assert list(call) == ["id", "type", "index", "function"]
    assert call["id"].startswith("chatcmpl-tool-") and call["type"] == "function"
    assert answer["chunk"]["prompt_token_ids"] == [1]
    assert list(answer["stream_state"]) == [
        *("role_sent", "logprob_context_token_ids", "output_token_ids", "output_chunk_lens"),
        *("tools_streamed", "last_tool_call_ids", "resume"),
    ]
    assert answer["stream_state"]["output_token_ids"] == answer["stream_state"]["output_chunk_lens"] == []
    assert answer["stream_state"]["tools_streamed"] is True


def test_a_repeated_chunk_repeats_its_call_id(parsed_server: ServedModel) -> None:
    body = {
        "stream": True,
        "generate_chunk": response(choice(encoded(parsed_server, "<think></think>" + CALL), None)),
        **opening(parsed_server),
    }
    first, second = (derender_chat(body, parsed_server) for _ in range(2))

    assert put_together([first["chunk"]])["calls"][0]["id"] == put_together([second["chunk"]])["calls"][0]["id"]
    assert first["stream_state"] == second["stream_state"]
    body["prompt_token_ids"] = [*body["prompt_token_ids"], 1]
    other = derender_chat(body, parsed_server)
    assert put_together([other["chunk"]])["calls"][0]["id"] != put_together([first["chunk"]])["calls"][0]["id"]


@pytest.mark.parametrize("moved_after", [1, 9, 30])
def test_a_client_may_come_from_a_server_that_replays(parsed_server: ServedModel, moved_after: int) -> None:
    token_ids = encoded(parsed_server, ANSWER)
    before, after = token_ids[:moved_after], token_ids[moved_after:]
    replayed_state = {"role_sent": True, "output_token_ids": before, "output_chunk_lens": [1] * moved_after}
    body = {"stream": True, "stream_state": replayed_state, "generate_chunk": response(choice(after))}

    answer = derender_chat({**body, **opening(parsed_server)}, parsed_server)
    rest = put_together([answer["chunk"]])
    told = put_together(replayed(events([before, after]), parsed_server, opening(parsed_server))[1:])
    assert rest == {**told, "role": None}
    assert answer["stream_state"]["output_token_ids"] == []


def test_a_finish_without_tokens_tells_what_was_held_back(parsed_server: ServedModel) -> None:
    token_ids = encoded(parsed_server, "<think></think>a<tool")
    told = replayed(events([token_ids, []], "length"), parsed_server, opening(parsed_server))

    assert put_together(told)["content"] == "a<tool"
    assert told[-1]["choices"][0]["finish_reason"] == "length"


def test_a_finish_before_any_output_is_an_empty_delta(parsed_server: ServedModel) -> None:
    (chunk,) = replayed(events([[]], "abort"), parsed_server, opening(parsed_server))

    assert chunk["choices"][0]["delta"] == {"role": "assistant", "content": None, "reasoning": None}
    assert chunk["choices"][0]["finish_reason"] == "abort"


def test_usage_alone_passes_through(parsed_server: ServedModel) -> None:
    token_ids = encoded(parsed_server, ANSWER)
    usage = {"prompt_tokens": 4, "completion_tokens": 9, "total_tokens": 13}
    ended = [*events([token_ids]), {"request_id": "generate-tokens-1", "choices": [], "usage": usage}]
    chunks = replayed(ended, parsed_server, opening(parsed_server))

    assert chunks[-1]["choices"] == []
    assert chunks[-1]["usage"] == {**usage, "prompt_tokens_details": None, "completion_tokens_details": None}
    assert chunks[0]["usage"] is None


def test_logprobs_come_with_their_chunk_and_know_what_came_before(parsed_server: ServedModel) -> None:
    token_ids = encoded(parsed_server, "<think></think>") + [
        token_id for token_id in map(parsed_server.model.vocabulary.id_of, "ðŁĺĤ") if token_id is not None
    ]
    stream = [response(choice([token_id], None, logprobs=logprobs([token_id], 2))) for token_id in token_ids]
    request = {**REQUEST, "logprobs": True, "top_logprobs": 1}
    entries = put_together(replayed(stream, parsed_server, opening(parsed_server, request)))["logprobs"]

    assert [entry["token"] for entry in entries] == ["<think>", "</think>", "", "", "", "😂"]
    assert entries[-1]["bytes"] == list("😂".encode())
    assert all(len(entry["top_logprobs"]) == 1 for entry in entries)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"chat_request": None}, "chat_request is required"),
        ({"prompt_token_ids": None}, "prompt_token_ids is required"),
        ({"chat_request": {**REQUEST, "stop": "x"}}, "stop strings are not supported"),
        ({"generate_chunk": response(choice([1]), choice([2], index=1))}, "derender_chat_stream expects at most one"),
        ({"generate_chunk": response(choice([1] * 4090))}, "exceeds max_model_len"),
    ],
    ids=["no request", "no prompt", "stop", "two choices", "too long"],
)
def test_streams_that_cannot_be_read_are_refused(parsed_server: ServedModel, changes: Json, message: str) -> None:
    body = {"stream": True, "generate_chunk": response(choice([1], None)), **opening(parsed_server), **changes}

    with pytest.raises(BadRequest, match=message):
        derender_chat(body, parsed_server)


def test_a_stream_may_not_outgrow_the_context(parsed_server: ServedModel) -> None:
    chunks = [[1] * 2000, [1] * 2000, [1] * 200]

    with pytest.raises(BadRequest, match="exceeds max_model_len"):
        replayed(events(chunks), parsed_server, opening(parsed_server))


def test_replayed_lengths_must_add_up(parsed_server: ServedModel) -> None:
    state = {"output_token_ids": [1, 2], "output_chunk_lens": [1]}
    body = {"stream": True, "generate_chunk": response(choice([1])), "stream_state": state, **opening(parsed_server)}

    with pytest.raises(ValidationFailed, match=r"output_chunk_lens must sum to len\(output_token_ids\)"):
        derender_chat(body, parsed_server)


@pytest.fixture(scope="module")
def carried(parsed_server: ServedModel) -> str:
    """A resume string in the middle of an answer."""
    event = response(choice(encoded(parsed_server, ANSWER)[:9], None))
    answer = derender_chat({"stream": True, "generate_chunk": event, **opening(parsed_server)}, parsed_server)
    return str(answer["stream_state"]["resume"])


@settings(deadline=None, max_examples=200)
@given(data=st.data())
def test_a_state_that_was_tampered_with_is_refused(parsed_server: ServedModel, carried: str, data: Any) -> None:
    at = data.draw(st.integers(0, len(carried) - 1))
    kept = data.draw(st.integers(0, 1))
    forged = carried[:at] + data.draw(st.text(max_size=3)) + carried[at + kept :]
    body = {"stream": True, "generate_chunk": response(choice([1])), "stream_state": {"resume": forged}}

    if forged == carried:
        derender_chat(body, parsed_server)
    else:
        with pytest.raises(RenderLayerError) as refusal:
            derender_chat(body, parsed_server)
        assert refusal.value.status == 400


def test_a_state_of_another_server_is_refused(server: ServedModel, parsed_server: ServedModel, carried: str) -> None:
    body = {"stream": True, "generate_chunk": response(choice([1])), "stream_state": {"resume": carried}}

    with pytest.raises(BadRequest, match="another model"):
        derender_chat(body, server)


def test_the_state_does_not_grow_with_the_output(parsed_server: ServedModel) -> None:
    text = "<think>" + "Hello world, it is a good day. " * 60 + "</think>" + CALL * 12
    state: Json | None = None
    sizes = []
    for event in events(split(encoded(parsed_server, text), [1] * 3000)):
        body = {"stream": True, "generate_chunk": event, "stream_state": state}
        state = derender_chat(body if state else {**body, **opening(parsed_server)}, parsed_server)["stream_state"]
        sizes.append(len(json.dumps(state)))

    assert max(sizes) <= 600


def test_time_grows_with_the_output(parsed_server: ServedModel) -> None:
    text = "<think>" + "Hello world, it is a good day. " * 9 + "</think>" + "Thank you, you are good. " * 9

    def taken(times: int) -> float:
        chunks = split(encoded(parsed_server, text) * times, [1] * 4000)
        return seconds(lambda: replayed(events(chunks), parsed_server, opening(parsed_server)))

    assert taken(8) < 30 * taken(1)  # eight times the work, sixty-four if it were quadratic
