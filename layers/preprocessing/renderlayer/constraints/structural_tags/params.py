"""The `structured_outputs` object of sampling_params: one kind of constraint, all keys present (wire.md 2.6)."""

from __future__ import annotations

import json
from typing import Any

from renderlayer.constraints.structural_tags import formats
from renderlayer.constraints.structural_tags.formats import Format
from renderlayer.errors import BadRequest

Params = dict[str, Any]

KINDS = ("json", "regex", "choice", "grammar", "json_object", "structural_tag")
ANY_OBJECT = {"type": "object"}
# Key order of the reference.
_EMPTY: Params = {
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


def params(**given: Any) -> Params:
    """The object with these fields set and all others at their defaults.

    Example:
        >>> params(regex="a+")["regex"]
        'a+'
    """
    return {**_EMPTY, **given}


def retagged(before: Params, content: Format) -> Params:
    """The object with its constraint replaced by a structural tag; its options stay."""
    return {**before, **dict.fromkeys(KINDS), "structural_tag": formats.written(content)}


def constrains(given: Params) -> bool:
    """Whether the object constrains anything; a json_object that is false does not."""
    return any(given[kind] is not None and given[kind] is not False for kind in KINDS)


def as_format(given: Params) -> Format:
    """The constraint in the vocabulary of structural tags.

    Raises:
        BadRequest: a schema or a structural tag in it is not what it claims to be.
    """
    if given["json_object"]:
        return formats.json_schema(ANY_OBJECT)
    if given["json"] is not None:
        return formats.json_schema(_schema(given["json"]))
    if given["regex"] is not None:
        return formats.regex(given["regex"])
    if given["choice"] is not None:
        return formats.either(formats.const(choice) for choice in given["choice"])
    if given["grammar"] is not None:
        return formats.grammar(given["grammar"])
    return formats.read(given["structural_tag"])


def _schema(given: Any) -> Any:
    if not isinstance(given, str):
        return given
    try:
        return json.loads(given)
    except ValueError as error:
        raise BadRequest(f"structured_outputs.json is not JSON: {error}", "structured_outputs") from None
    except RecursionError:
        raise BadRequest("structured_outputs.json is nested too deeply", "structured_outputs") from None
