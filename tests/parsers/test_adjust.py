"""Requests with tools in, constraints out: the rules of wire.md 2.7."""

from __future__ import annotations

import json
from typing import Any

import pytest

from renderlayer.constraints.adjust import Adjustment, adjust
from renderlayer.constraints.structural_tags.params import params
from tests.parsers.tools import BOOK_SCHEMA, NAMED, Names, tag_of, tool

ANY_JSON = {
    "type": "json_schema",
    "json_schema": True,
    "style": "json",
    "any_order": False,
    "max_whitespace_cnt": None,
    "excludes": [],
}


def hermes_tags(content: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "type": "tag",
            "begin": '<tool_call>\n{"name": "book", "arguments": ',
            "content": content,
            "end": "}\n</tool_call>",
        },
        {
            "type": "tag",
            "begin": '<tool_call>{"name": "book", "arguments": ',
            "content": content,
            "end": "}</tool_call>",
        },
    ]


# --- tags --------------------------------------------------------------------------------------------------------


def test_a_demanded_call_is_a_list_of_tags_in_the_models_own_format() -> None:
    change = adjust(Names("hermes"), [tool()], "required")
    assert tag_of(change) == {
        "type": "tags_with_separator",
        "tags": hermes_tags(ANY_JSON),
        "separator": "",
        "at_least_one": True,
        "stop_after_first": False,
    }
    assert change.skip_special_tokens is False
    assert change.reasoning_ended is False


def test_a_named_tool_is_the_only_one_and_comes_once() -> None:
    change = adjust(Names("hermes"), [tool("other"), tool(), tool("third")], NAMED)
    assert tag_of(change) == {
        "type": "tags_with_separator",
        "tags": hermes_tags(ANY_JSON),
        "separator": "",
        "at_least_one": True,
        "stop_after_first": True,
    }


def test_a_strict_tool_brings_its_schema_and_leaves_its_neighbours_free() -> None:
    change = adjust(Names("llama3_json"), [tool(strict=True), tool("other")], "auto")
    assert tag_of(change) == {
        "type": "triggered_tags",
        "triggers": ['{"name": '],
        "tags": [
            {
                "type": "tag",
                "begin": '{"name": "book", "parameters": ',
                "content": {**ANY_JSON, "json_schema": BOOK_SCHEMA},
                "end": "}",
            },
            {"type": "tag", "begin": '{"name": "other", "parameters": ', "content": ANY_JSON, "end": "}"},
        ],
        "at_least_one": False,
        "stop_after_first": False,
        "excludes": ["<think>", "</think>"],
    }


def test_auto_without_a_strict_tool_constrains_nothing() -> None:
    assert adjust(Names("llama3_json"), [tool(), tool("other", strict=False)], "auto") == Adjustment(None)


@pytest.mark.parametrize("choice", ["none", None])
def test_tools_that_are_not_to_be_called_constrain_nothing(choice: str | None) -> None:
    assert adjust(Names("llama3_json"), [tool(strict=True)], choice) == Adjustment(None)


@pytest.mark.parametrize(
    ("parser", "level", "constrained", "schema"),
    [
        ("hermes", "", False, None),
        ("hermes", "auto", False, None),
        ("hermes", "function", True, True),
        ("hermes", "parameter", True, BOOK_SCHEMA),
        ("glm45", "", True, None),
        ("glm47", "", True, None),
        ("glm45", "auto", False, None),
        ("ling3", "", False, None),
    ],
)
def test_the_operators_level_beats_the_parsers_own(parser: str, level: str, constrained: bool, schema: Any) -> None:
    change = adjust(Names(parser), [tool()], "auto", strict_level=level)
    assert (change.structured_outputs is not None) == constrained
    if schema is not None:
        assert tag_of(change)["tags"][0]["content"]["json_schema"] == schema


def test_one_call_at_most_stops_behind_the_first_at_every_depth() -> None:
    content = tag_of(adjust(Names("deepseek_v3"), [tool()], "auto", parallel_tool_calls=False))
    assert content["stop_after_first"] is True
    assert content["tags"][0]["content"]["stop_after_first"] is True


def test_one_call_at_most_does_not_bring_calls_into_a_constrained_answer() -> None:
    given = params(regex="[a-z]+")
    change = adjust(Names("llama3_json"), [tool()], "auto", parallel_tool_calls=False, structured_outputs=given)
    assert change.structured_outputs == given


# --- with a constraint of the client's own ------------------------------------------------------------------------


def test_auto_without_a_tag_keeps_the_clients_constraint() -> None:
    given = params(json_object=True)
    assert adjust(Names("hermes"), [tool()], "auto", structured_outputs=given).structured_outputs == given


@pytest.mark.parametrize(
    ("given", "content"),
    [
        ({"json_object": True}, {**ANY_JSON, "json_schema": {"type": "object"}}),
        ({"json": {"type": "array"}}, {**ANY_JSON, "json_schema": {"type": "array"}}),
        ({"json": '{"type": "array"}'}, {**ANY_JSON, "json_schema": {"type": "array"}}),
        ({"regex": "a+"}, {"type": "regex", "pattern": "a+"}),
        ({"grammar": 'root ::= "a"'}, {"type": "grammar", "grammar": 'root ::= "a"'}),
        (
            {"choice": ["yes", "no"]},
            {
                "type": "or",
                "elements": [{"type": "const_string", "value": "yes"}, {"type": "const_string", "value": "no"}],
            },
        ),
        (
            {"structural_tag": '{"type":"structural_tag","format":{"type":"any_text"}}'},
            {"type": "any_text", "excludes": [], "max_tokens": None, "max_chars": None},
        ),
        (
            {"structural_tag": '{"structures":[{"begin":"<f>","schema":{},"end":"</f>"}],"triggers":["<f>"]}'},
            {
                "type": "triggered_tags",
                "triggers": ["<f>"],
                "tags": [{"type": "tag", "begin": "<f>", "content": {**ANY_JSON, "json_schema": {}}, "end": "</f>"}],
                "at_least_one": False,
                "stop_after_first": False,
                "excludes": [],
            },
        ),
    ],
)
def test_auto_with_a_tag_offers_calls_or_what_the_client_asked_for(
    given: dict[str, Any], content: dict[str, Any]
) -> None:
    change = adjust(Names("hermes"), [tool(strict=True)], "auto", structured_outputs=params(**given))
    calls = {
        "type": "tags_with_separator",
        "tags": hermes_tags({**ANY_JSON, "json_schema": BOOK_SCHEMA}),
        "separator": "",
        "at_least_one": True,
        "stop_after_first": False,
    }
    assert tag_of(change) == {"type": "or", "elements": [calls, content]}


def test_a_demanded_call_beats_the_clients_constraint() -> None:
    change = adjust(Names("qwen3_xml"), [tool()], NAMED, structured_outputs=params(regex="a+"))
    assert tag_of(change)["begin"] == "<tool_call>\n<function=book>\n"


@pytest.mark.parametrize(
    "given",
    [
        {"json": "{"},
        {"structural_tag": "["},
        {"structural_tag": "5"},
        {"structural_tag": "{}"},
        {"structural_tag": '{"format":{"type":"unheard_of"}}'},
        {"structural_tag": '{"format":{"type":"regex"}}'},
        {"structural_tag": '{"format":{"type":"sequence","elements":7}}'},
        {"structural_tag": '{"structures":[{}],"triggers":[]}'},
        {"structural_tag": '{"format":' + '{"type":"star","content":' * 200 + "0" + "}" * 201},
        {"structural_tag": "[" * 100_000},
    ],
)
def test_a_constraint_that_is_not_what_it_claims_is_left_to_the_engine(given: dict[str, Any]) -> None:
    wish = params(**given)
    assert adjust(Names("hermes"), [tool(strict=True)], "auto", structured_outputs=wish).structured_outputs == wish


@pytest.mark.parametrize(
    "given",
    [
        {"json_object": False},
        {"choice": []},
        {"regex": "("},
        {"json": {"type": "x"}},
        {"json": {"properties": {"n": {"type": "number", "multipleOf": 5}}}},
        {"json": {"type": "array", "uniqueItems": True}},
        {"json": {"type": "string", "format": "idn-email"}},
        {"json": {"type": "string", "pattern": "a+", "maxLength": 3}},
        {"json": {"type": "object", "properties": {}, "patternProperties": {"a": {}}}},
        {"json": {"type": "object", "properties": {}, "propertyNames": {}}},
        {"json": '{"allOf": [{"type": "string"}, {"minLength": 3}]}'},
    ],
)
def test_a_constraint_that_tags_cannot_express_stays_what_it_is(given: dict[str, Any]) -> None:
    wish = params(**given)
    assert adjust(Names("hermes"), [tool(strict=True)], "auto", structured_outputs=wish).structured_outputs == wish


@pytest.mark.parametrize(
    "given",
    [
        {"json_object": True},
        {"choice": ["a"]},
        {"regex": "a+"},
        {"json": {"type": ["array", "null"], "items": {"type": "string", "format": "date"}}},
        {"json": {"type": "object", "patternProperties": {"a": {}}}},
    ],
)
def test_a_constraint_that_tags_can_express_stands_beside_the_calls(given: dict[str, Any]) -> None:
    change = adjust(Names("hermes"), [tool(strict=True)], "auto", structured_outputs=params(**given))
    assert change.structured_outputs is not None
    assert json.loads(change.structured_outputs["structural_tag"])["format"]["type"] == "or"


def test_harmony_leaves_a_json_object_that_is_false_alone() -> None:
    wish = params(json_object=False)
    assert adjust(Names("openai"), None, "none", structured_outputs=wish, harmony_model=True).structured_outputs == wish


# --- harmony, grammars ---------------------------------------------------------------------------------------------


def test_harmony_moves_a_constraint_into_the_final_channel() -> None:
    given = params(regex="a+", disable_any_whitespace=True)
    change = adjust(Names("", "openai_gptoss"), None, "none", structured_outputs=given, harmony_model=True)
    found = change.structured_outputs
    assert found is not None
    assert found == params(disable_any_whitespace=True, structural_tag=found["structural_tag"])
    any_text = {"type": "any_text", "excludes": [], "max_tokens": None, "max_chars": None}
    assert json.loads(found["structural_tag"])["format"] == {
        "type": "sequence",
        "elements": [
            {
                "type": "optional",
                "content": {
                    "type": "sequence",
                    "elements": [
                        {
                            "type": "tag",
                            "begin": "<|channel|>analysis<|message|>",
                            "content": any_text,
                            "end": "<|end|>",
                        },
                        {"type": "const_string", "value": "<|start|>assistant"},
                    ],
                },
            },
            {
                "type": "tag",
                "begin": "<|channel|>final<|message|>",
                "content": {"type": "regex", "pattern": "a+"},
                "end": ["<|end|>", ""],
            },
        ],
    }


def test_harmony_with_a_strict_tool_offers_calls_or_the_constrained_answer() -> None:
    change = adjust(
        Names("openai", "openai_gptoss"),
        [tool(strict=True)],
        "auto",
        structured_outputs=params(json_object=True),
        harmony_model=True,
    )
    calls, answer = tag_of(change)["elements"]
    begins = [entry["begin"] for entry in calls["elements"][-1]["elements"]]
    assert len(begins) == 12
    assert all("to=functions.book" in begin for begin in begins)
    assert [entry["begin"] for entry in answer["elements"][-1]["elements"]] == [
        "<|channel|>final json<|message|>",
        "<|channel|>final <|constrain|>json<|message|>",
    ]


def test_a_tokenizers_grammar_covers_the_reasoning() -> None:
    change = adjust(Names("mistral", "mistral"), [tool()], "required", tokenizer_grammar="start: body")
    assert change == Adjustment(params(grammar="start: body"), skip_special_tokens=None, reasoning_ended=True)
