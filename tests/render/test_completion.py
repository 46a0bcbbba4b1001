"""Completion requests, tokenizing and detokenizing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from renderlayer.errors import BadRequest, ValidationFailed
from renderlayer.render.completion import render_completion
from renderlayer.render.tokenize import detokenize_request, tokenize_request
from renderlayer.served_model import ServedModel
from renderlayer.wire.common.base import parse
from renderlayer.wire.completion import CompletionRequest
from renderlayer.wire.tokenize import DetokenizeRequest, TokenizeChatRequest, TokenizeCompletionRequest


def render(server: ServedModel, **body: Any) -> list[dict[str, Any]]:
    return render_completion(parse(CompletionRequest, body), server)


def ids(server: ServedModel, text: str) -> list[int]:
    return server.model.tokenizer.encode(text)


def test_one_prompt_gives_a_list_of_one(server: ServedModel) -> None:
    (only,) = render(server, prompt="hello world", request_id="x")
    assert only["token_ids"] == ids(server, "hello world")
    assert only["request_id"] == "cmpl-x"
    assert only["sampling_params"]["max_tokens"] == 16
    assert only["parse_context"] is None and only["reasoning_ended"] is None


def test_several_prompts_are_numbered(server: ServedModel) -> None:
    rendered = render(server, prompt=["hello", "world"], request_id="x")
    assert [prompt["request_id"] for prompt in rendered] == ["cmpl-x-0", "cmpl-x-1"]
    assert [prompt["token_ids"] for prompt in rendered] == [ids(server, "hello"), ids(server, "world")]


def test_token_ids_pass_unchanged(server: ServedModel) -> None:
    assert render(server, prompt=[1, 2, 99_999_999])[0]["token_ids"] == [1, 2, 99_999_999]
    assert [prompt["token_ids"] for prompt in render(server, prompt=[[1], [2, 3]])] == [[1], [2, 3]]


def test_echo_asks_for_the_prompts_logprobs_and_at_least_one_token(server: ServedModel) -> None:
    params = render(server, prompt="hello", echo=True, max_tokens=0, logprobs=3)[0]["sampling_params"]
    assert (params["max_tokens"], params["logprobs"], params["prompt_logprobs"]) == (1, 3, 3)
    assert params["skip_reading_prefix_cache"] is True


def test_truncation_of_ids(server: ServedModel) -> None:
    prompt = list(range(10))
    assert render(server, prompt=prompt, truncate_prompt_tokens=3)[0]["token_ids"] == [7, 8, 9]
    assert render(server, prompt=prompt, truncate_prompt_tokens=3, truncation_side="right")[0]["token_ids"] == [0, 1, 2]


@pytest.mark.parametrize(
    ("body", "kind", "param"),
    [
        ({"prompt": ""}, BadRequest, "prompt"),
        ({"prompt": []}, BadRequest, "prompt"),
        ({}, BadRequest, "prompt"),
        ({"prompt": [[]]}, BadRequest, None),
        ({"prompt": ["x"] * 1025}, BadRequest, "prompt"),
        ({"prompt": [1] * 5000}, BadRequest, "input_tokens"),
        ({"prompt": "x", "suffix": "y"}, BadRequest, "suffix"),
        ({"prompt": "", "prompt_embeds": "AAAA"}, BadRequest, "prompt_embeds"),
        ({"prompt": "x", "logprobs": -2}, BadRequest, "logprobs"),
        ({"prompt": [-1]}, ValidationFailed, "body.prompt.0"),
        ({"prompt": [1.5]}, ValidationFailed, "body.prompt.0"),
        ({"prompt": {"a": 1}}, ValidationFailed, "body.prompt"),
    ],
    ids=str,
)
def test_refusals(server: ServedModel, body: dict[str, Any], kind: type[Exception], param: str | None) -> None:
    with pytest.raises(kind) as caught:
        render(server, **body)
    assert getattr(caught.value, "param", "absent") == param


def test_tokenize_text_and_back(server: ServedModel) -> None:
    request = TokenizeCompletionRequest(prompt="Hello, wörld 客单价", return_token_strs=True)
    answer = tokenize_request(request, server)
    assert answer["count"] == len(answer["tokens"]) == len(answer["token_strs"])
    assert answer["max_model_len"] == server.max_model_len
    assert detokenize_request(DetokenizeRequest(tokens=answer["tokens"]), server) == {"prompt": "Hello, wörld 客单价"}


def test_tokenize_a_conversation_without_limit(server: ServedModel) -> None:
    messages = [{"role": "user", "content": "word " * 6000}]
    answer = tokenize_request(parse(TokenizeChatRequest, {"messages": messages, "tools": []}), server)
    assert answer["count"] > server.max_model_len
    assert answer["token_strs"] is None


def test_unknown_ids_detokenize_to_nothing(server: ServedModel) -> None:
    known = ids(server, "Hello")
    assert detokenize_request(DetokenizeRequest(tokens=[2**40, *known]), server) == {"prompt": "Hello"}


def test_both_endings_are_refused_by_tokenize() -> None:
    body = {"messages": [], "add_generation_prompt": True, "continue_final_message": True}
    with pytest.raises(ValidationFailed, match="Cannot set both"):
        parse(TokenizeChatRequest, body)


def test_a_shorter_context_binds(server: ServedModel) -> None:
    short = ServedModel(server.model, replace(server.settings, max_model_len=4))
    with pytest.raises(BadRequest) as caught:
        render(short, prompt="one two three four five")
    assert caught.value.param == "input_tokens"


def test_no_tools_and_an_empty_list_of_tools_are_two_things() -> None:
    hello = [{"role": "user", "content": "x"}]
    assert parse(TokenizeChatRequest, {"messages": hello, "tools": []}).tool_dicts() == []
    assert parse(TokenizeChatRequest, {"messages": hello}).tool_dicts() is None
