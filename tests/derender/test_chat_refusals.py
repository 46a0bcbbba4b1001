"""Whole chat bodies that are refused, and those that the reference refuses without need."""

from __future__ import annotations

from typing import Any

import pytest

from renderlayer.derender import derender_chat
from renderlayer.errors import BadRequest, NotFound, ValidationFailed
from renderlayer.served_model import ServedModel
from tests.derender.engine import Json, choice, logprobs, response

REQUEST: Json = {"messages": [{"role": "user", "content": "Hello"}]}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"generate_response": response(choice([]))}, "choice 0 has empty or null token_ids"),
        ({"generate_response": response(choice(None))}, "choice 0 has empty or null token_ids"),
        ({"generate_response": response(choice([1] * 4097))}, "token_ids length (4097) in choice 0 exceeds"),
        ({"generate_response": response(choice([1], logprobs=logprobs([1] * 4097)))}, "logprobs.content length (4097)"),
        (
            {"generate_response": response(choice([1], logprobs=logprobs([1], 21)))},
            "top_logprobs count (21) in choice 0",
        ),
        ({"generate_response": response(choice([1]), prompt_logprobs=[None] * 4097)}, "prompt_logprobs length (4097)"),
        (
            {"generate_response": response(*[choice([1])] * 16_385)},
            "choices count (16385) exceeds the maximum of 16384.",
        ),
        (
            {"generate_response": response(choice([1])), "prompt_token_ids": [1] * 4097},
            "prompt_token_ids length (4097)",
        ),
    ],
    ids=["no ids", "null ids", "ids", "logprobs", "candidates", "prompt logprobs", "choices", "prompt"],
)
def test_what_is_larger_than_it_can_be_is_refused(server: ServedModel, body: Json, message: str) -> None:
    with pytest.raises(BadRequest) as refusal:
        derender_chat(body, server)
    assert refusal.value.message.startswith(message)
    assert refusal.value.param is None


@pytest.mark.parametrize("named", [0, 40], ids=["the sampled token outside the top 20", "40 named tokens"])
def test_what_an_engine_sends_is_accepted(server: ServedModel, named: int) -> None:
    """The reference refuses these answers of its own engine (wire.md 9.43)."""
    given = logprobs([7], named + 1 if named else 21)
    given["content"][0]["top_logprobs"][0]["rank"] = 300
    request = {**REQUEST, "logprobs": True, "top_logprobs": 0 if named else 20}
    if named:
        request["logprob_token_ids"] = list(range(named))
    body = {"generate_response": response(choice([7], logprobs=given)), "chat_request": request}

    (entry,) = derender_chat(body, server)["choices"][0]["logprobs"]["content"]
    assert len(entry["top_logprobs"]) == (named + 1 if named else 20)


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({}, "body.DerenderChatRequest.generate_response"),
        ({"stream": True}, "body.DerenderChatRequest.stream"),
        (
            {"generate_response": response(choice([-1]))},
            "body.DerenderChatRequest.generate_response.choices.0.token_ids",
        ),
        (
            {"generate_response": response(choice([1]), output_mode="text")},
            "body.DerenderChatRequest.generate_response.output_mode",
        ),
        ([1], "body.DerenderChatRequest"),
        ("text", "body.DerenderChatRequest"),
    ],
    ids=["nothing", "no chunk", "negative id", "text mode", "list", "string"],
)
def test_bodies_of_another_shape_are_refused(server: ServedModel, body: Any, param: str) -> None:
    with pytest.raises(ValidationFailed) as refusal:
        derender_chat(body, server)
    assert refusal.value.param == param


def test_the_request_inside_is_checked_too(server: ServedModel) -> None:
    body = {"generate_response": response(choice([1])), "chat_request": {**REQUEST, "tools": []}}

    with pytest.raises(BadRequest, match="must not be an empty array"):
        derender_chat(body, server)


def test_an_unknown_model_is_not_found(server: ServedModel) -> None:
    with pytest.raises(NotFound, match="The model `other` does not exist"):
        derender_chat({"model": "other", "generate_response": response(choice([1]))}, server)


def test_a_parser_needs_the_request(parsed_server: ServedModel) -> None:
    with pytest.raises(BadRequest, match="chat_request is required"):
        derender_chat({"generate_response": response(choice([1]))}, parsed_server)
