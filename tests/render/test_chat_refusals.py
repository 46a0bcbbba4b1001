"""Chat requests that are refused, with what they are told."""

from __future__ import annotations

from typing import Any

import pytest

from renderlayer.errors import BadRequest, LoneSurrogate, NotFound, RenderLayerError, ValidationFailed
from renderlayer.served_model import ServedModel
from tests.render.test_chat import TOOL, chat, render

REFUSALS: list[tuple[dict[str, Any], type[RenderLayerError], str | None, str]] = [
    ({"model": "nope"}, NotFound, "model", "does not exist. Valid aliases: small."),
    ({"messages": []}, BadRequest, None, "empty conversation"),
    ({"use_beam_search": True}, BadRequest, None, "Beam search"),
    ({"chat_template": "x"}, BadRequest, None, "--trust-request-chat-template"),
    ({"chat_template_kwargs": {"chat_template": "x"}}, BadRequest, None, "--trust-request-chat-template"),
    ({"mm_processor_kwargs": {"a": 1}}, BadRequest, "mm_processor_kwargs", "--trust-request-mm-kwargs"),
    ({"tools": [TOOL]}, BadRequest, None, "--enable-auto-tool-choice"),
    ({"tools": []}, BadRequest, "tools", "must not be an empty array"),
    ({"tool_choice": "auto"}, BadRequest, "tool_choice", "`tools` must be set"),
    ({"tools": [TOOL], "tool_choice": "bogus"}, BadRequest, "tool_choice", "Invalid value"),
    ({"tools": [TOOL], "tool_choice": {"function": {"name": "x"}}}, BadRequest, "tool_choice", "does not match"),
    ({"max_tokens": 0}, BadRequest, "max_tokens", "at least 1, got 0"),
    ({"max_tokens": 99999}, BadRequest, "max_tokens", "cannot be greater than max_model_len=4096"),
    ({"max_completion_tokens": 99999}, BadRequest, "max_completion_tokens", "cannot be greater"),
    ({"n": 0}, BadRequest, None, "n must be at least 1"),
    ({"n": 20_000}, BadRequest, None, "n must be at most"),
    ({"n": 2, "temperature": 0}, BadRequest, None, "greedy sampling"),
    ({"temperature": -1}, BadRequest, "temperature", "non-negative"),
    ({"temperature": 3}, BadRequest, "temperature", "must be in [0, 2]"),
    ({"top_p": 1.5}, BadRequest, "top_p", "(0, 1]"),
    ({"top_k": -5}, BadRequest, None, "top_k"),
    ({"stop": ""}, BadRequest, None, "empty string"),
    ({"bad_words": [""]}, BadRequest, None, "empty string"),
    ({"logit_bias": {"x": 1}}, BadRequest, "logit_bias", "cannot be converted"),
    ({"top_logprobs": 2}, BadRequest, "top_logprobs", "must be set to true"),
    ({"thinking_token_budget": 1.5}, BadRequest, "thinking_token_budget", "non-negative integer"),
    ({"truncate_prompt_tokens": 0}, BadRequest, None, "No token_ids rendered"),
    ({"truncate_prompt_tokens": 10**7}, BadRequest, "truncate_prompt_tokens", "max_model_len = 4096"),
    ({"cache_salt": "a/b"}, BadRequest, "cache_salt", "must not contain"),
    ({"stream_options": {"include_usage": True}}, BadRequest, "stream_options", "stream=True"),
    ({"vllm_xargs": {"x": 2**70}}, BadRequest, "extra_args", "64 bits"),
    ({"kv_transfer_params": {"x": 2**70}}, BadRequest, "extra_args", "64 bits"),
    ({"messages": [{"role": "user", "content": "word " * 9000}]}, BadRequest, "input_tokens", "at least 4097"),
    ({"messages": [{"role": "user", "content": "a\ud800"}]}, LoneSurrogate, None, "surrogates not allowed"),
    ({"messages": [{"role": "user", "content": [{"type": "bogus"}]}]}, BadRequest, None, "bogus"),
    ({"messages": [{"role": "user", "content": [{"type": "text", "text": 5}]}]}, BadRequest, None, "'text'"),
    ({"kv_transfer_params": {"prompt_token_ids": [True]}}, BadRequest, "kv_transfer_params.prompt_token_ids", "list"),
    ({"kv_transfer_params": {"prompt_token_ids": "x"}}, BadRequest, "kv_transfer_params.prompt_token_ids", "list"),
    ({"vllm_xargs": {"kv_transfer_params": "x"}}, BadRequest, None, "object"),
    ({"repetition_detection": {"max_pattern_size": 5}}, BadRequest, None, "min_count"),
    ({"chat_template_kwargs": {"documents": [1]}}, BadRequest, None, "Documents"),
    ({"request_id": None}, ValidationFailed, "body.request_id", "null"),
    ({"mm_payload": None}, ValidationFailed, "body.mm_payload", "null"),
    ({"watermarking": {}}, ValidationFailed, "body.watermarking", "bool"),
    ({"top_logprobs": "1.0"}, BadRequest, "top_logprobs", "integer"),
    ({"structured_outputs": {"structural_tag": "x"}}, BadRequest, "structured_outputs", "structural_tag"),
    ({"messages": [{"role": "user", "content": None}]}, ValidationFailed, "body.messages.0.content", "valid string"),
    ({"messages": [{"content": "x"}]}, ValidationFailed, "body.messages.0.role", "Field required"),
    (
        {"messages": [{"role": "developer", "content": "x", "tools": 3}]},
        ValidationFailed,
        "body.messages.0.tools",
        "list",
    ),
    (
        {"messages": [{"role": "developer", "content": "x", "tools": [{}]}]},
        ValidationFailed,
        "body.messages.0.tools.0.function",
        "Field required",
    ),
    ({"messages": "x"}, ValidationFailed, "body.messages", "valid list"),
    ({"thinking_token_budget": "x" * 10**6}, BadRequest, "thinking_token_budget", f"value={'x' * 200})"),
    ({"seed": 2**63}, ValidationFailed, "body.seed", "less than or equal"),
    ({"stop": list("abcde")}, ValidationFailed, "body.stop", "2 validation errors"),
    ({"reasoning_effort": "bogus"}, ValidationFailed, "body.reasoning_effort", "'minimal'"),
]


def test_both_endings_are_refused(server: ServedModel) -> None:
    with pytest.raises(BadRequest, match="Cannot set both"):
        render(server, continue_final_message=True, add_generation_prompt=True)


@pytest.mark.parametrize(("body", "kind", "param", "text"), REFUSALS, ids=lambda value: str(value)[:40])
def test_refusals(
    server: ServedModel, body: dict[str, Any], kind: type[RenderLayerError], param: str | None, text: str
) -> None:
    with pytest.raises(kind) as caught:
        render(server, **body)
    assert type(caught.value) is kind
    assert caught.value.param == param
    assert text in caught.value.message


def test_an_image_for_a_text_model_is_refused(server: ServedModel) -> None:
    part = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    with pytest.raises(BadRequest, match="is not a multimodal model"):
        render(server, messages=[{"role": "user", "content": [part]}])


@pytest.mark.parametrize("name", ["guided_json", "guided_regex", "guided_choice", "guided_grammar"])
def test_constraints_of_old_are_refused_by_name(name: str) -> None:
    with pytest.raises(BadRequest, match="structured_outputs") as caught:
        chat(**{name: "x"})
    assert caught.value.param == name
    assert chat(**{name: None}).structured_outputs is None
