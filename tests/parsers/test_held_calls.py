"""Demanded calls at the front door: what the engine's grammar lets through is read as calls that fit their schemas."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from renderlayer.constraints.adjust import Adjustment, adjust
from renderlayer.errors import BadRequest
from tests.parsers.engine_walk import Walk, text_of
from tests.parsers.support import asking, markers_of, opened, pieces
from tests.parsers.tools import NAMED, Names, tag_of

OWN = ["gemma4", "dots", "k2_horizon", "hy_v4", "poolside_v1", "glm45", "muse", "muse_glimmer", "kimi_k3", "minimax_m3"]
STYLED = ["qwen3_coder", "mimo", "step5", "minimax_m2", "deepseek_v32", "deepseek_v4", "deepseek_v41"]
JSON = ["hermes", "llama3_json", "longcat", "deepseek_v3", "deepseek_v31", "kimi_k2", "plamo3"]
SCHEMAS: dict[str, dict[str, Any]] = {
    "plain": {
        "type": "object",
        "properties": {
            "city": {"type": "string", "maxLength": 12},
            "days": {"type": "integer"},
            "unit": {"type": "string", "enum": ["C", "F"]},
            "exact": {"type": "boolean"},
        },
        "required": ["city", "unit"],
        "additionalProperties": False,
    },
    "optional": {
        "type": "object",
        "properties": {
            "note": {"anyOf": [{"type": "string", "minLength": 1}, {"type": "null"}], "default": None},
            "level": {"type": ["integer", "null"]},
            "mode": {"const": "fast"},
        },
    },
    "nested": {
        "type": "object",
        "properties": {
            "where": {"$ref": "#/$defs/Place"},
            "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
            "pair": {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2},
        },
        "required": ["where", "pair"],
        "$defs": {
            "Place": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "inside": {"anyOf": [{"$ref": "#/$defs/Place"}, {"type": "null"}]},
                    "kind": {"enum": ["town", "sea", 3, None]},
                },
                "required": ["name", "kind"],
                "additionalProperties": False,
            }
        },
    },
    "nothing": {"type": "object", "properties": {}},
}


def tools(schema: Any, **more: Any) -> list[dict[str, Any]]:
    return [
        {"type": "function", "function": {"name": name, "description": None, "parameters": schema, **more}}
        for name in ("book", "find")
    ]


def held(parser: str, schema: Any, choice: Any = "required", **more: Any) -> Adjustment:
    return adjust(Names(parser), tools(schema, **more), choice, hold_demanded=True)


def check(name: str, declared: dict[str, Any], choice: Any) -> None:
    walk = Walk(text_of(tag_of(held(name, declared, choice))), markers_of(name, None))
    parser, words = opened(name)
    for text in walk.texts(seed=len(name), count=8):
        answer = parser.parse(asking(tools=tools(declared), tool_choice=choice), pieces(text, words))
        assert answer.calls, text
        assert choice == "required" or [call.name for call in answer.calls] == ["book"]
        for call in answer.calls:
            assert call.name in ("book", "find")
            jsonschema.validate(json.loads(call.arguments), declared)


@pytest.mark.parametrize("name", ["gemma4", "glm45", "qwen3_coder", "hermes"])
def test_what_the_grammar_lets_through_fits(name: str) -> None:
    check(name, SCHEMAS["nested"], "required")


@pytest.mark.long
@pytest.mark.parametrize("schema", SCHEMAS)
@pytest.mark.parametrize("name", [*OWN, *STYLED, *JSON])
@pytest.mark.parametrize("choice", ["required", NAMED], ids=["any", "named"])
def test_it_fits_in_every_format(name: str, schema: str, choice: Any) -> None:
    check(name, SCHEMAS[schema], choice)


@pytest.mark.parametrize("name", [*OWN, "hermes", "qwen3_coder"])
def test_no_schema_means_an_object(name: str) -> None:
    walk = Walk(text_of(tag_of(held(name, None))), markers_of(name, None))
    parser, words = opened(name)
    for text in walk.texts(seed=1, count=12):
        answer = parser.parse(asking(tools=tools(None), tool_choice="required"), pieces(text, words))
        assert answer.calls, text
        assert all(isinstance(json.loads(call.arguments), dict) for call in answer.calls), text


def test_the_wire_stays_the_reference_s() -> None:
    for name in ("gemma4", "dots", "k2_horizon", "inkling", "minimax_m3", "muse", "poolside_v1"):
        assert adjust(Names(name), tools(SCHEMAS["plain"]), "required").structured_outputs is None
    frame = tag_of(adjust(Names("hy_v4"), tools(SCHEMAS["plain"]), "required", marker_suffix=":x"))
    assert frame["elements"][0]["value"] == "<tool_calls:x>"
    assert adjust(Names("hy_v4"), tools(None, strict=True), "auto") == Adjustment(None)


def test_muse_s_whole_answer_is_constrained() -> None:
    change = held("muse", SCHEMAS["plain"])
    assert change.reasoning_ended
    assert change.structured_outputs is not None
    assert not adjust(Names("muse"), tools(None), "required").reasoning_ended


@pytest.mark.parametrize(
    "schema", [{"type": "object", "properties": {"a": False}, "required": ["a"]}, {"type": "array"}]
)
def test_schemas_that_nothing_fits_are_refused(schema: Any) -> None:
    with pytest.raises(BadRequest, match="book") as caught:
        held("gemma4", schema)
    assert caught.value.param == "tools"
