"""Streams of the engine: framing, what adds up to the whole answer, usage (wire.md 5.3)."""

from __future__ import annotations

from typing import Any

import pytest

from renderlayer.served_model import ServedModel
from tests.engine.serving import Service

PROMPT = [40, 41, 300, 42, 7]


def test_events_add_up_to_the_whole_answer(service: Service) -> None:
    params = {"max_tokens": 8, "temperature": 1.0, "seed": 5, "n": 2, "logprobs": 2, "ignore_eos": True}
    whole = service.generate(PROMPT, **params)
    events = service.events(token_ids=PROMPT, sampling_params=params)
    for choice in whole["choices"]:
        own = [one for event in events for one in event["choices"] if one["index"] == choice["index"]]
        assert [token for one in own for token in one["token_ids"]] == choice["token_ids"]
        content = [entry for one in own for entry in one["logprobs"]["content"]]
        assert content == choice["logprobs"]["content"]
        assert [one["finish_reason"] for one in own] == [None] * 7 + ["length"]
        assert own[-1]["weight_versions"] == choice["weight_versions"]
        assert own[0]["weight_versions"] is None
    assert {len(event["choices"]) for event in events} == {1}
    assert {event["request_id"] for event in events} == {events[0]["request_id"]}


def test_an_event_has_its_keys_in_order(service: Service) -> None:
    first, second = service.events(
        token_ids=PROMPT, sampling_params={"max_tokens": 2, "ignore_eos": True}, return_token_ids=True
    )
    assert list(first) == ["request_id", "usage", "prompt_token_ids", "output_mode", "choices"]
    assert first["prompt_token_ids"] == PROMPT
    assert list(second) == ["request_id", "usage", "output_mode", "choices"]
    assert ",".join(second["choices"][0]) == (
        "index,finish_reason,stop_reason,token_ids,routed_experts,sampling_mask,weight_versions,logprobs"
    )


@pytest.mark.parametrize("continuous", [False, True])
def test_usage(service: Service, continuous: bool) -> None:
    *events, last = service.events(
        token_ids=PROMPT,
        sampling_params={"max_tokens": 3, "ignore_eos": True},
        stream_options={"include_usage": True, "continuous_usage_stats": continuous},
    )
    assert list(last) == ["request_id", "usage", "output_mode", "choices"]
    assert last["usage"] == {"prompt_tokens": 5, "total_tokens": 8, "completion_tokens": 3}
    assert last["choices"] == []
    counts = [event["usage"] and event["usage"]["completion_tokens"] for event in events]
    assert counts == ([1, 2, 3] if continuous else [None, None, None])


def test_the_interval_spaces_events(service: Service) -> None:
    events = service.events(
        token_ids=PROMPT, sampling_params={"max_tokens": 8, "stream_interval": 3, "ignore_eos": True}
    )
    assert [len(event["choices"][0]["token_ids"]) for event in events] == [1, 3, 3, 1]


def test_text_is_held_back_for_stop_strings(service: Service, tiny: ServedModel) -> None:
    ids = tiny.model.tokenizer.encode("Hello world, thank you. 你好")

    def texts(**params: Any) -> list[str]:
        events = service.events(
            token_ids=PROMPT,
            sampling_params={"trace_decode_token_ids": ids, "max_tokens": 99, **params},
            output_mode="text",
        )
        return [event["choices"][0]["text"] for event in events]

    assert "".join(texts()) == "Hello world, thank you. 你好"
    cut = texts(stop=[", thank"])
    assert "".join(cut) == "Hello world"
    assert all("," not in text for text in cut)


def test_what_the_engine_refuses_is_told_in_the_stream(service: Service) -> None:
    (event,) = service.events(token_ids=[99_999_999], sampling_params={"max_tokens": 1})
    assert event["error"]["type"] == "BadRequestError"
    assert (event["error"]["param"], event["error"]["code"]) == (None, 400)


def test_what_the_endpoint_refuses_is_an_ordinary_error(service: Service) -> None:
    response = service.post(token_ids=[1], sampling_params={"n": 9}, stream=True)
    assert response.status_code == 400
    assert response.json()["error"]["type"] == "BadRequestError"
