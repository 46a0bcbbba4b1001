"""Requests of Messages that are refused: the field is named."""

from __future__ import annotations

import pytest

from renderlayer.errors import BadRequest, NotFound, RenderLayerError, ValidationFailed
from renderlayer.served_model import ServedModel
from tests.render.test_messages import WEATHER, Json, render


@pytest.mark.parametrize(
    ("body", "error", "param"),
    [
        ({"model": "nope"}, NotFound, "model"),
        ({"model": ""}, ValidationFailed, "body.model"),
        ({"max_tokens": 0}, ValidationFailed, "body.max_tokens"),
        ({"max_tokens": 10**6}, BadRequest, "max_completion_tokens"),
        ({"messages": []}, BadRequest, None),
        ({"messages": [{"role": "tool", "content": "x"}]}, ValidationFailed, "body.messages.0.role"),
        (
            {"messages": [{"role": "user", "content": [{"type": "video"}]}]},
            ValidationFailed,
            "body.messages.0.content.0.type",
        ),
        (
            {"messages": [{"role": "user", "content": [{"type": {}}]}]},
            ValidationFailed,
            "body.messages.0.content.0.type",
        ),
        (
            {"messages": [{"role": "user", "content": [{"type": "text", "text": 5}]}]},
            ValidationFailed,
            "body.messages.0.content.0.text",
        ),
        (
            {"messages": [{"role": "user", "content": [{"type": "image", "source": "x"}]}]},
            ValidationFailed,
            "body.messages.0.content.0.source",
        ),
        ({"system": [{"type": "tool_addition", "tool": {}}]}, ValidationFailed, "body.system.0"),
        (
            {"thinking": {"type": "enabled", "budget_tokens": 5}},
            ValidationFailed,
            "body.thinking.enabled.budget_tokens",
        ),
        ({"thinking": {"type": "enabled", "budget_tokens": 1024}}, ValidationFailed, "body"),
        ({"stop_sequences": list("abcde")}, ValidationFailed, "body.stop_sequences"),
        ({"cache_salt": "a/b"}, BadRequest, "cache_salt"),
        ({"tools": [{"name": "x"}]}, ValidationFailed, "body.tools.0"),
        ({"tools": [WEATHER], "tool_choice": {"type": "any"}}, BadRequest, None),
        ({"tool_choice": {"type": "any"}}, BadRequest, None),
        ({"tools": [WEATHER], "tool_choice": {"type": "tool"}}, ValidationFailed, "body.tool_choice"),
    ],
)
def test_refusals_name_the_field(
    server: ServedModel, body: Json, error: type[RenderLayerError], param: str | None
) -> None:
    with pytest.raises(RenderLayerError) as caught:
        render(server, **body)

    assert type(caught.value) is error
    assert caught.value.param == param
    assert caught.value.message
