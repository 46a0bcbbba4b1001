"""A rollout that uses a tool, against the embedded engine, with the books that a trainer keeps."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from renderlayer import LoadedModel
from renderlayer.rollout import Rollout
from renderlayer.served_model import ServedModel
from tests.engine.serving import Service

pytest.importorskip("xgrammar")

TOOL = {
    "type": "function",
    "function": {
        "name": "look_up",
        "parameters": {
            "type": "object",
            "properties": {"word": {"enum": ["yes", "no"]}},
            "required": ["word"],
            "additionalProperties": False,
        },
    },
}


def test_a_tool_using_rollout(tiny: ServedModel, service: Service) -> None:
    """What is trained on is what was sampled: the engine's own ids and logprobs, at their places in one sequence."""
    settings = replace(tiny.settings, tool_call_parser="hermes", enable_auto_tool_choice=True)
    model = LoadedModel(ServedModel(tiny.model, settings).front_door)
    size = len(tiny.model.vocabulary)
    blank = {str(token): -100.0 for token in range(size) if model.detokenize([token]).isspace()}  # or it never ends
    request: dict[str, Any] = {
        "messages": [{"role": "user", "content": "Look it up."}],
        "tools": [TOOL],
        "tool_choice": "required",
        "parallel_tool_calls": False,
        "logit_bias": blank,
        "max_tokens": 160,
        "temperature": 1.0,
        "seed": 3,
        "logprobs": True,
        "top_logprobs": 0,
    }
    rollout = Rollout(model, request)
    books: list[tuple[int, list[int], list[float]]] = []
    for _ in range(3):
        answer = service.post(**json.loads(json.dumps(rollout.request)))
        assert answer.status_code == 200, answer.text
        (choice,) = answer.json()["choices"]
        numbers = [entry["logprob"] for entry in choice["logprobs"]["content"]]
        books.append((len(rollout.token_ids), choice["token_ids"], numbers))
        message = rollout.sampled(choice["token_ids"], numbers)
        (call, *_) = message["tool_calls"]
        assert json.loads(call["function"]["arguments"])["word"] in ("yes", "no")
        rollout.answer({"role": "tool", "tool_call_id": call["id"], "content": "It is known."})
    for start, ids, numbers in books:
        end = start + len(ids)
        assert rollout.token_ids[start:end] == ids
        assert rollout.logprobs[start:end] == numbers
        assert set(rollout.mask[start:end]) == {1}
    assert sum(rollout.mask) == sum(len(ids) for _, ids, _ in books)
