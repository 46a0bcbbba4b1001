"""What clients write about the form of the output, and what the engine is told (wire.md 2.6)."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from renderlayer.constraints.structured import structured_outputs
from renderlayer.errors import BadRequest, RenderLayerError, ValidationFailed

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}
EMPTY = {
    "json": None,
    "regex": None,
    "choice": None,
    "grammar": None,
    "json_object": None,
    "disable_any_whitespace": False,
    "disable_additional_properties": False,
    "whitespace_pattern": None,
    "structural_tag": None,
    "_backend": None,
    "_backend_was_auto": False,
}
LEGACY = {
    "triggers": ["<f>"],
    "type": "structural_tag",
    "structures": [{"end": "</f>", "schema": SCHEMA, "begin": "<f>"}],
}


def json_schema(**more: Any) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA, **more}}


@pytest.mark.parametrize(
    "given",
    [
        {"json": SCHEMA},
        {"json": json.dumps(SCHEMA)},
        {"json": {}},
        {"regex": "[a-z]+"},
        {"choice": ["yes", "no"]},
        {"grammar": 'root ::= "a"'},
        {"json_object": True},
        {"structural_tag": '{"type": "structural_tag", "format": {"type": "any_text"}}'},
        {"json_object": False},
        {"regex": "a", "disable_any_whitespace": True, "whitespace_pattern": " ?"},
        {"regex": "a", "disable_additional_properties": True, "json": None, "unheard_of": 1, "_backend": "x"},
    ],
)
def test_a_constraint_is_dumped_with_every_key_in_order(given: dict[str, Any]) -> None:
    found = structured_outputs(given)
    assert found == {**EMPTY, **{key: value for key, value in given.items() if key in EMPTY and key != "_backend"}}
    assert list(found) == list(EMPTY)


@pytest.mark.parametrize(
    ("response_format", "expected"),
    [
        (None, None),
        ({"type": "text"}, None),
        ({"type": "json_object"}, {"json_object": True}),
        (json_schema(), {"json": SCHEMA}),
        (json_schema(strict=True, description="d"), {"json": SCHEMA}),
        (
            {"format": {"type": "any_text"}, "type": "structural_tag", "more": 1},
            {"structural_tag": '{"type": "structural_tag", "format": {"type": "any_text"}, "more": 1}'},
        ),
        (
            LEGACY,
            {
                "structural_tag": '{"type": "structural_tag", "structures": [{"begin": "<f>", "schema": '
                + json.dumps(SCHEMA)
                + ', "end": "</f>"}], "triggers": ["<f>"]}'
            },
        ),
    ],
)
def test_a_response_format_becomes_a_constraint(response_format: Any, expected: dict[str, Any] | None) -> None:
    assert structured_outputs(None, response_format) == (None if expected is None else {**EMPTY, **expected})


def test_a_text_format_leaves_the_constraint_alone() -> None:
    assert structured_outputs({"regex": "a"}, {"type": "text"}) == {**EMPTY, "regex": "a"}


def test_a_response_format_of_the_same_kind_replaces_the_constraint_and_keeps_its_options() -> None:
    given = {"json": {"type": "null"}, "disable_any_whitespace": True}
    assert structured_outputs(given, json_schema()) == {**EMPTY, "json": SCHEMA, "disable_any_whitespace": True}


@pytest.mark.parametrize(
    ("given", "response_format", "named", "message"),
    [
        (
            {"json": SCHEMA, "regex": "a"},
            None,
            False,
            "You can only use one kind of constraints for structured outputs ('json', 'regex' or 'choice').",
        ),
        (
            {"choice": ["a"], "json": SCHEMA},
            None,
            True,
            "You can only use one kind of constraints for structured outputs ('json', 'regex' or 'choice').",
        ),
        (
            {"regex": "a"},
            None,
            True,
            "You can only either use constraints for structured outputs or tools, not both.",
        ),
        (
            {"regex": "a", "grammar": "g"},
            None,
            False,
            "You can only use one kind of structured outputs constraint but multiple are specified: "
            f"{ {**EMPTY, 'regex': 'a', 'grammar': 'g'} }",
        ),
        (
            {"regex": "a"},
            {"type": "json_object"},
            False,
            "You can only use one kind of structured outputs constraint but multiple are specified: "
            f"{ {**EMPTY, 'regex': 'a', 'json_object': True} }",
        ),
        (
            {},
            None,
            False,
            f"You must use one kind of structured outputs constraint but none are specified: {EMPTY}",
        ),
        (
            {"disable_any_whitespace": True},
            {"type": "json_object"},
            False,
            "You must use one kind of structured outputs constraint but none are specified: "
            f"{ {**EMPTY, 'disable_any_whitespace': True} }",
        ),
        (
            None,
            {"type": "json_schema", "json_schema": {"name": "n"}},
            False,
            f"You must use one kind of structured outputs constraint but none are specified: {EMPTY}",
        ),
    ],
)
def test_exactly_one_kind_is_taken(given: Any, response_format: Any, named: bool, message: str) -> None:
    with pytest.raises(BadRequest) as caught:
        structured_outputs(given, response_format, named)
    assert caught.value.body() == {"error": {"message": message, "type": "BadRequestError", "param": None, "code": 400}}


def test_a_tag_or_grammar_goes_with_a_named_tool() -> None:
    assert structured_outputs({"grammar": "g"}, None, True) == {**EMPTY, "grammar": "g"}


@pytest.mark.parametrize("missing", [{}, {"json_schema": None}])
def test_a_json_schema_must_be_there(missing: dict[str, Any]) -> None:
    with pytest.raises(BadRequest) as caught:
        structured_outputs(None, {"type": "json_schema", **missing})
    assert caught.value.body()["error"] == {
        "message": "When response_format type is 'json_schema', the 'json_schema' field must be provided."
        " (parameter=response_format)",
        "type": "BadRequestError",
        "param": "response_format",
        "code": 400,
    }


@pytest.mark.parametrize(
    ("given", "response_format", "param", "first"),
    [
        ({"regex": 5}, None, "body.structured_outputs.regex", "string_type"),
        ({"choice": "yes"}, None, "body.structured_outputs.choice", "list_type"),
        ({"choice": [1]}, None, "body.structured_outputs.choice.0", "string_type"),
        ({"json": 5}, None, "body.structured_outputs.json", "string_type"),
        (None, {"type": "bogus"}, "body.response_format.ResponseFormat.type", "literal_error"),
        (None, {}, "body.response_format.ResponseFormat.type", "missing"),
        (
            None,
            {"type": "json_schema", "json_schema": {"schema": {}}},
            "body.response_format.ResponseFormat.json_schema.name",
            "missing",
        ),
    ],
)
def test_a_wrong_type_is_a_validation_error(given: Any, response_format: Any, param: str, first: str) -> None:
    with pytest.raises(ValidationFailed) as caught:
        structured_outputs(given, response_format)
    assert caught.value.param == param
    assert f"{{'type': '{first}', 'loc': '{param}'" in caught.value.message


def test_a_bottomless_tag_is_refused() -> None:
    content: dict[str, Any] = {"type": "any_text"}
    for _ in range(50_000):
        content = {"type": "star", "content": content}
    with pytest.raises(RenderLayerError) as caught:
        structured_outputs(None, {"type": "structural_tag", "format": content})
    assert caught.value.status == 400


def test_recorded_constraints_come_out_as_the_reference_writes_them(shared: Path) -> None:
    seen = 0
    for path in sorted((shared / "corpus").glob("tiny-*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for case in map(json.loads, lines):
                body = case.get("request")
                if not case["path"].endswith("completions/render") or not isinstance(body, dict):
                    continue
                given, response_format = body.get("structured_outputs"), body.get("response_format")
                if not (given or response_format) or "models/tiny-gptoss" in case["server_args"]:
                    continue
                seen += 1
                try:
                    found: Any = structured_outputs(given, response_format)
                except RenderLayerError as error:
                    assert error.body() == case["response"]
                    continue
                answer = case["response"][0] if isinstance(case["response"], list) else case["response"]
                assert json.dumps(found) == json.dumps(answer["sampling_params"].get("structured_outputs"))
    assert seen > 20
