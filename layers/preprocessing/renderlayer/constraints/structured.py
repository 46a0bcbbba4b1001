"""Structured outputs: what a request says about the form of its output, as the engine is told (wire.md 2.6)."""

from __future__ import annotations

import json
from typing import Any, Literal

from pydantic import ConfigDict, Field

from renderlayer.constraints.structural_tags import formats
from renderlayer.constraints.structural_tags.params import KINDS, Params, params
from renderlayer.errors import BadRequest
from renderlayer.wire.common.base import Body, ListOf, parse

JsonObject = dict[str, Any]


class StructuredOutputs(Body):
    """The object that clients send: exactly one kind of constraint, and options."""

    json_: str | JsonObject | None = Field(default=None, alias="json")
    regex: str | None = None
    choice: ListOf[str] | None = None
    grammar: str | None = None
    json_object: bool | None = None
    disable_any_whitespace: bool = False
    disable_additional_properties: bool = False
    whitespace_pattern: str | None = None
    structural_tag: str | None = None

    def fields(self) -> JsonObject:
        """The fields by their names on the wire."""
        names = type(self).model_fields
        return {info.alias or name: getattr(self, name) for name, info in names.items()}


class JsonSchema(Body):
    name: str
    description: str | None = None
    schema_: JsonObject | None = Field(default=None, alias="schema")
    strict: bool | None = None


class ResponseFormat(Body):
    type: Literal["text", "json_object", "json_schema"]
    json_schema: JsonSchema | None = None

    def constraint(self) -> JsonObject:
        """The kind of constraint that this asks for, or nothing."""
        if self.type == "json_schema" and self.json_schema is not None:
            return {"json": self.json_schema.schema_}
        return {"json_object": True} if self.type == "json_object" else {}


class StructuralTagResponseFormat(Body):
    model_config = ConfigDict(extra="allow")

    type: Literal["structural_tag"]
    format: Any

    def constraint(self) -> JsonObject:
        """The whole response_format, as the tag."""
        return _tag({"type": self.type, "format": self.format, **(self.model_extra or {})})


class LegacyStructuralTag(Body):
    model_config = ConfigDict(extra="allow")

    begin: str
    schema_: JsonObject | None = Field(default=None, alias="schema")
    end: str


class LegacyStructuralTagResponseFormat(Body):
    model_config = ConfigDict(extra="allow")

    type: Literal["structural_tag"]
    structures: ListOf[LegacyStructuralTag]
    triggers: ListOf[str]

    def constraint(self) -> JsonObject:
        """The whole response_format, as the tag."""
        structures = [
            {"begin": entry.begin, "schema": entry.schema_, "end": entry.end, **(entry.model_extra or {})}
            for entry in self.structures
        ]
        return _tag(
            {"type": self.type, "structures": structures, "triggers": self.triggers, **(self.model_extra or {})}
        )


class _Constraints(Body):
    """The two fields of a body that speak of its output's form; the union's names show in validation errors."""

    response_format: ResponseFormat | StructuralTagResponseFormat | LegacyStructuralTagResponseFormat | None = None
    structured_outputs: StructuredOutputs | None = None


def structured_outputs(
    given: JsonObject | None,
    response_format: JsonObject | None = None,
    named_tool_choice: bool = False,
    checked: bool = True,
) -> Params | None:
    """The constraint of a chat or completion request.

    Args:
        given: the body's structured_outputs.
        response_format: the body's response_format; what it says is laid over `given`.
        named_tool_choice: whether tool_choice names a function.
        checked: whether structural tags are read here; of Responses, only engines and parsers read them.

    Returns:
        The object for sampling_params, all keys present; None without a constraint.

    Raises:
        BadRequest: none or several kinds of constraint, or one together with a named tool.
        ValidationFailed: a field is missing or of the wrong type.

    Example:
        >>> structured_outputs({"regex": "a+"}, {"type": "text"})["regex"]
        'a+'
    """
    _check_kinds(given, named_tool_choice)
    if response_format and response_format.get("type") == "json_schema" and not response_format.get("json_schema"):
        raise BadRequest(
            "When response_format type is 'json_schema', the 'json_schema' field must be provided.",
            "response_format",
        )
    if checked:
        _check_tag(given, response_format)
    body = parse(_Constraints, {"response_format": response_format, "structured_outputs": given})
    found = None if body.structured_outputs is None else _single(body.structured_outputs.fields())
    wanted = {} if body.response_format is None else body.response_format.constraint()
    return _single({**(found or {}), **wanted}) if wanted else found


def _check_kinds(given: JsonObject | None, named_tool_choice: bool) -> None:
    """What the reference checks before it looks at types."""
    count = sum((given or {}).get(kind) is not None for kind in ("json", "regex", "choice"))
    if count > 1:
        raise BadRequest(
            "You can only use one kind of constraints for structured outputs ('json', 'regex' or 'choice')."
        )
    if count and named_tool_choice:
        raise BadRequest("You can only either use constraints for structured outputs or tools, not both.")


def _check_tag(given: JsonObject | None, response_format: JsonObject | None) -> None:
    """Refuse structural tags that are none, before an engine does in the midst of its answer."""
    tag = (given or {}).get("structural_tag")
    try:
        if tag is not None:
            formats.read(tag)
    except BadRequest:
        raise _no_tag("structured_outputs") from None
    try:
        if response_format and response_format.get("type") == "structural_tag":
            formats.read(json.dumps(response_format))
    except (BadRequest, RecursionError):
        raise _no_tag("response_format") from None


def _no_tag(field: str) -> BadRequest:
    return BadRequest(f"Invalid {field} structural_tag specification.", field)


def _single(fields: JsonObject) -> Params:
    found = params(**fields)
    count = sum(found[kind] is not None for kind in KINDS)
    if count > 1:
        raise BadRequest(
            f"You can only use one kind of structured outputs constraint but multiple are specified: {found}"
        )
    if count == 0:
        raise BadRequest(f"You must use one kind of structured outputs constraint but none are specified: {found}")
    return found


def _tag(document: JsonObject) -> JsonObject:
    try:
        return {"structural_tag": json.dumps(document)}
    except RecursionError:
        raise BadRequest("response_format is nested too deeply.", "response_format") from None
