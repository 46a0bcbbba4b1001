"""Bodies and states that no client would send: an answer or a 400, quickly, and nothing else."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from renderlayer.derender import derender_chat, derender_completion, stream_chat
from renderlayer.derender.core.state import Resume, decode_stream_state, encode_stream_state
from renderlayer.errors import BadRequest, RenderLayerError
from renderlayer.served_model import ServedModel
from tests.derender.engine import PROMPT, Json, choice, encoded, logprobs, response

TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
REQUEST: Json = {"messages": [{"role": "user", "content": "x"}], "tools": TOOLS, "logprobs": True, "top_logprobs": 1}
ODD: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, -1, 0, 10**30, -(10**30), 1.5, 1e400, "", "x", "\ud800", [], [[]], {}, [None], {"a": None}, ["\ud800"]]
)


def bodies(server: ServedModel) -> list[Json]:
    """Bodies that are answered, each with about every field that there is."""
    token_ids = encoded(server, '<think>a</think>b<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>')
    told = choice(token_ids, logprobs=logprobs(token_ids, 2), stop_reason=None)
    prompt = encoded(server, PROMPT)
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    beside: Json = {"usage": usage, "prompt_token_ids": prompt, "kv_transfer_params": {"a": 1}, "metrics": {}}
    state = {
        "prev_tokens": ["a", "b"],
        "prefix_offset": 0,
        "read_offset": 1,
        "role_sent": True,
        "logprob_context_token_ids": [1, 2],
        "logprob_text_offset": 3,
        "output_token_ids": token_ids[:4],
        "output_chunk_lens": [3, 1],
        "tools_streamed": False,
        "last_tool_call_ids": ["a"],
    }
    stream = {"stream": True, "generate_chunk": response(told, **beside), "stream_state": state, "prompt_tokens": 3}
    generated = response(told, prompt_logprobs=[None, {"5": {"logprob": -1.0}}], **beside)
    return [
        {"generate_response": generated, "chat_request": REQUEST, "prompt_token_ids": prompt, "prompt_tokens": 3},
        {**stream, "chat_request": REQUEST, "prompt_token_ids": prompt},
        {"generate_responses": [generated], "completion_request": {"prompt": "x"}, "prompt_token_ids": [prompt]},
        {**stream, "completion_request": {"prompt": "x", "logprobs": 1}, "prompt_token_ids": prompt},
    ]


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every (container, key) below a value."""
    for key, inside in value.items() if isinstance(value, dict) else enumerate(value):
        yield value, key
        if isinstance(inside, (dict, list)):
            yield from places(inside)


def spoilt(value: Any, data: st.DataObject) -> Any:
    """A copy with one thing in it replaced or left out."""
    copied = copy.deepcopy(value)
    container, key = data.draw(st.sampled_from(list(places(copied))))
    if isinstance(container, dict) and data.draw(st.booleans()):
        del container[key]
    else:
        container[key] = data.draw(ODD)
    return copied


@settings(deadline=None, max_examples=120, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data(), times=st.integers(1, 3))
def test_any_body_gets_an_answer_or_a_refusal(
    server: ServedModel, parsed_server: ServedModel, data: Any, times: int
) -> None:
    at = data.draw(st.integers(0, 3))
    body: Any = bodies(server)[at]
    for _ in range(times):
        body = spoilt(body, data)
    for served in (server, parsed_server):
        try:
            answer = (derender_chat if at < 2 else derender_completion)(body, served)
        except RenderLayerError as refusal:
            assert refusal.status in (400, 404)
            assert refusal.message
        else:
            json.dumps(answer)


@settings(deadline=None, max_examples=80)
@given(data=st.data())
def test_any_event_of_a_stream_gets_an_answer_or_a_refusal(parsed_server: ServedModel, data: Any) -> None:
    body = bodies(parsed_server)[1]
    opening = {"chat_request": REQUEST, "prompt_token_ids": body["prompt_token_ids"]}
    stream = spoilt([opening, body["generate_chunk"], body["generate_chunk"]], data)
    try:
        json.dumps(list(stream_chat(stream, parsed_server)))
    except RenderLayerError as refusal:
        assert refusal.status in (400, 404)


@settings(deadline=None, max_examples=100)
@given(data=st.data(), times=st.integers(1, 3))
def test_a_state_made_by_hand_is_answered_or_refused(parsed_server: ServedModel, data: Any, times: int) -> None:
    """Whoever reads the source can make a string with a good digest."""
    first = {**bodies(parsed_server)[1], "stream_state": None}
    carried = derender_chat(first, parsed_server)["stream_state"]["resume"]
    inside = decode_stream_state(carried, "chat", parsed_server).model_dump()
    for _ in range(times):
        inside = spoilt(inside, data)
    try:
        forged = encode_stream_state(Resume.model_validate(inside).model_dump(), "chat", parsed_server)
    except ValueError:
        return
    body = {"stream": True, "generate_chunk": response(choice([1, 2])), "stream_state": {"resume": forged}}
    try:
        derender_chat(body, parsed_server)
    except RenderLayerError as refusal:
        assert refusal.status == 400


@pytest.mark.parametrize(
    "resume",
    ["", "1.", "2.AAAA", "1." + "A" * 16_382, "1.é", "1.AAA=", "x" * 20_000],
    ids=["empty", "bare", "version", "zeros", "letters", "padded", "long"],
)
def test_strings_that_are_no_state_are_refused(parsed_server: ServedModel, resume: str) -> None:
    body = {"stream": True, "generate_chunk": response(choice([1])), "stream_state": {"resume": resume}}

    with pytest.raises(RenderLayerError) as refusal:
        derender_chat(body, parsed_server)
    assert refusal.value.status == 400


def test_a_state_that_swells_is_refused(parsed_server: ServedModel) -> None:
    bomb = encode_stream_state({"parser": {"a": "0" * (4 << 20)}}, "chat", parsed_server)
    assert len(bomb) < 16_384

    with pytest.raises(BadRequest, match="malformed"):
        decode_stream_state(bomb, "chat", parsed_server)
