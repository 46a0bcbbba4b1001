"""Requests of Responses that are refused: the field is named."""

from __future__ import annotations

from typing import Any

import pytest

from renderlayer.errors import BadRequest, InvalidRequest, NotFound, RenderLayerError, ValidationFailed
from renderlayer.served_model import ServedModel
from tests.render.test_responses import WEATHER, Json, prompt, render


def refusal(server: ServedModel, **body: Any) -> RenderLayerError:
    with pytest.raises(RenderLayerError) as caught:
        render(server, **body)
    return caught.value


@pytest.mark.parametrize(
    ("body", "error", "param"),
    [
        ({"model": "nope"}, NotFound, "model"),
        ({"previous_response_id": "resp_1"}, InvalidRequest, "previous_response_id"),
        ({"prompt": {"id": "p"}}, BadRequest, "prompt"),
        ({"background": True, "store": False}, BadRequest, "background"),
        (
            {"structured_outputs": {"regex": "a"}, "text": {"format": {"type": "text"}}},
            BadRequest,
            "structured_outputs",
        ),
        ({"prompt_cache_retention": "1h"}, ValidationFailed, "body.prompt_cache_retention"),
        ({"cache_salt": ""}, BadRequest, "cache_salt"),
        ({"max_output_tokens": 10**6}, BadRequest, "max_output_tokens"),
        ({"max_output_tokens": 0}, BadRequest, "max_tokens"),
        ({"input": None}, ValidationFailed, "body.input"),
        ({"input": []}, BadRequest, None),
        ({"input": [{"role": "x"}]}, ValidationFailed, "body.input.0.role"),
        ({"input": [{"type": "reasoning", "encrypted_content": "…"}]}, ValidationFailed, "body.input.0.summary"),
        ({"input": [{"type": "function_call", "name": "f"}]}, ValidationFailed, "body.input.0.call_id"),
        ({"input": [{"type": "function_call_output", "call_id": "c"}]}, ValidationFailed, "body.input.0.output"),
        ({"input": [{"role": "user", "content": 3}]}, ValidationFailed, "body.input.0.content"),
        ({"input": [{"role": "user", "content": [{"type": "input_file", "file_id": "f"}]}]}, BadRequest, "type"),
        ({"tools": [{"type": "mcp"}]}, ValidationFailed, "body.tools.0.server_label"),
        ({"tools": [{"type": []}]}, ValidationFailed, "body.tools.0.type"),
        ({"tools": [{"type": "function"}]}, ValidationFailed, "body.tools.0.name"),
        ({"tools": [{**WEATHER, "description": 3}]}, ValidationFailed, "body.tools.0.description"),
        ({"tools": [{**WEATHER, "strict": "x"}]}, ValidationFailed, "body.tools.0.strict"),
        (
            {"tools": [{"type": "namespace", "name": "n", "tools": []}]},
            ValidationFailed,
            "body.tools.0.description",
        ),
        ({"include": ["x"]}, ValidationFailed, "body.include.0"),
        ({"prompt_cache_options": {"ttl": "x"}}, ValidationFailed, "body.prompt_cache_options.ttl"),
        ({"tool_choice": "required"}, BadRequest, "tool_choice"),
        ({"tools": [WEATHER], "tool_choice": {"type": "function", "name": "x"}}, BadRequest, "tool_choice"),
        ({"tools": [WEATHER], "tool_choice": {"type": "mcp"}}, ValidationFailed, "body.tool_choice.server_label"),
        ({"tools": [WEATHER], "tool_choice": {"type": "magic"}}, ValidationFailed, "body.tool_choice.type"),
        ({"mm_processor_kwargs": {"a": 1}}, BadRequest, "mm_processor_kwargs"),
    ],
)
def test_refusals_name_the_field(
    server: ServedModel, body: Json, error: type[RenderLayerError], param: str | None
) -> None:
    refused = refusal(server, **body)

    assert type(refused) is error
    assert refused.param == param
    assert refused.message


def test_a_part_of_the_assistant_without_type_and_text_is_refused(server: ServedModel) -> None:
    with pytest.raises(BadRequest) as caught:
        prompt(server, input=[{"role": "assistant", "id": "m", "content": [{}]}])
    assert caught.value.param == "type"
