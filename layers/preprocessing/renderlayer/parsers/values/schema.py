"""Values by a tool's schema: the digest that the state carries, and text → JSON (wire.md 7.3)."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from renderlayer.parsers.core.resumable import bad_state
from renderlayer.parsers.core.tool_machine import ToolTypes

_LETTERS = {
    "null": "n",
    "none": "n",
    "integer": "i",
    "int": "i",
    "int32": "i",
    "int64": "i",
    "long": "i",
    "number": "f",
    "float": "f",
    "double": "f",
    "decimal": "f",
    "boolean": "b",
    "bool": "b",
    "object": "o",
    "dict": "o",
    "array": "a",
    "list": "a",
    "tuple": "a",
    "string": "s",
    "str": "s",
    "text": "s",
}
_ORDER = "nifboas"
ANY_JSON = "j"
"""The letter of a value that is JSON of any kind where it can be."""

INPUT = "input"
WRAPPERS = ("arguments", INPUT)
"""Names of a parameter that may hold all the arguments, in formats that know such wrappers."""
_INTEGER = re.compile(r"[+-]?\d+\Z")
_DEEPEST = 8
_LITERALS = re.compile(
    r"""(?:'[^'\\]*+(?:\\.[^'\\]*+)*+'|"[^"\\]*+(?:\\.[^"\\]*+)*+"|True|False|None|[-+]?\d[\d.]*+(?:[eE][-+]?\d+)?|[\s,:\[\]{}])*+""",
    re.DOTALL,
)
"""What Python's lists and dictionaries of plain values are written with."""


def digest(tools: Sequence[Mapping[str, Any]] | None, strings: bool = False) -> dict[str, dict[str, str]]:
    """The types of the tools' parameters as letters of `nifboas`, in that order.

    Parameters of which nothing is said are left out, and without `strings` those that are plain strings too: their
    values are taken as they stand. Only those whose name could be a wrapper's (`WRAPPERS`) are told apart.
    """
    types: dict[str, dict[str, str]] = {}
    for tool in tools or ():
        function = tool.get("function") or {}
        schema = function.get("parameters")
        properties = schema.get("properties") if isinstance(schema, Mapping) else None
        known = properties.items() if isinstance(properties, Mapping) else ()
        letters = {str(key): _letters(value, schema) for key, value in known}
        types[str(function.get("name"))] = {
            key: value or "s"
            for key, value in letters.items()
            if value not in ("", "s") or key in WRAPPERS or (value and strings)
        }
    return types


def inputs(tools: Sequence[Mapping[str, Any]] | None) -> dict[str, dict[str, str]]:
    """The functions whose only parameter is the string `input`, as custom tools are shown to models (wire.md 2.8)."""
    found = {}
    for tool in tools or ():
        function = tool.get("function") or {}
        schema = function.get("parameters")
        properties = schema.get("properties") if isinstance(schema, Mapping) else None
        if isinstance(properties, Mapping) and [*properties] == [INPUT] and _letters(properties[INPUT], schema) == "s":
            found[str(function.get("name"))] = {INPUT: "s"}
    return found


def checked(types: Any) -> ToolTypes:
    """A digest from a state.

    Raises:
        BadRequest: it is none.
    """
    if type(types) is not dict:
        raise bad_state()
    for letters in types.values():
        if type(letters) is not dict or not all(type(value) is str for value in letters.values()):
            raise bad_state()
    return types


def to_json(text: str, letters: str, whole: bool = False) -> str:
    """The JSON text of a value written as `text`, of the first type in `letters` that it fits; else a string.

    Args:
        whole: a number without a fraction, such as 3.0, is an integer, too.
    """
    stripped = text.strip()
    for letter in letters:
        found = _as(letter, stripped)
        if found is None and whole and letter == "i":
            found = _whole(stripped)
        if found is not None:
            return found
    return json.dumps(text, ensure_ascii=False)


def may_nest(text: str, letters: str) -> bool:
    """Whether a value that begins with `text` is an object or array, as its types allow."""
    first = text.lstrip()[:1]
    return first in ("{", "[") and (ANY_JSON in letters or ("o" if first == "{" else "a") in letters)


def _letters(schema: Any, root: Any, depth: int = 0) -> str:
    """The types that a value of the schema may have; references into `root` are followed."""
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return ""
    if isinstance(schema.get("$ref"), str):
        return _letters(_referred(schema["$ref"], root), root, depth + 1)
    found: set[str] = set()
    kinds = schema.get("type")
    for kind in [kinds] if isinstance(kinds, str) else kinds if isinstance(kinds, (list, tuple)) else ():
        found.add(_LETTERS.get(str(kind).lower(), "s"))
    for key in ("anyOf", "oneOf", "allOf"):
        branches = schema.get(key)
        for branch in branches if isinstance(branches, (list, tuple)) else ():
            found.update(_letters(branch, root, depth + 1))
    if not found and isinstance(schema.get("enum"), (list, tuple)):
        found.update(_of_values(schema["enum"]))
    return "".join(letter for letter in _ORDER if letter in found)


def _referred(reference: str, root: Any) -> Any:
    """What a local reference, such as #/$defs/Place, points at; None for any other."""
    if not reference.startswith("#/"):
        return None
    place = root
    for key in reference[2:].split("/"):
        place = place.get(key.replace("~1", "/").replace("~0", "~")) if isinstance(place, Mapping) else None
    return place


def _of_values(values: Iterable[Any]) -> Iterable[str]:
    for value in values:
        if value is None:
            yield "n"
        elif isinstance(value, bool):
            yield "b"
        elif isinstance(value, int):
            yield "i"
        elif isinstance(value, float):
            yield "f"
        else:
            yield "o" if isinstance(value, dict) else "a" if isinstance(value, list) else "s"


def _as(letter: str, text: str) -> str | None:
    if letter == "n":
        return "null" if text.lower() in ("null", "none") else None
    if letter == "i":
        return _integer(text)
    if letter == "f":
        return _integer(text) or _float(text)
    if letter == "b":
        return {"true": "true", "1": "true", "false": "false", "0": "false"}.get(text.lower())
    if letter == "s":
        return None
    return _json(text, {"o": dict, "a": list}.get(letter, object))


def _integer(text: str) -> str | None:
    """The digits themselves, however many, without what JSON does not allow before them."""
    if not _INTEGER.match(text) or not text.isascii():
        return None
    digits = text.lstrip("+-").lstrip("0") or "0"
    return f"-{digits}" if text[0] == "-" and digits != "0" else digits


def _whole(text: str) -> str | None:
    """The integer that a number with an empty fraction is."""
    found = _float(text)
    return str(int(float(found))) if found is not None and float(found).is_integer() else None


def _float(text: str) -> str | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return json.dumps(value) if math.isfinite(value) and "_" not in text else None


def _json(text: str, kind: type) -> str | None:
    """The text as it stands, when it is JSON of that kind; what Python writes of that kind, as JSON."""

    def refuse(constant: str) -> None:
        raise ValueError(constant)

    try:
        value = json.loads(text, parse_constant=refuse, parse_int=str)
    except (ValueError, RecursionError):
        return _python(text, kind)
    return text if isinstance(value, kind) else None


def _python(text: str, kind: type) -> str | None:
    """The JSON text of a list or dictionary as Python writes it: templates print values so."""
    if text[:1] not in ("[", "{") or not _LITERALS.fullmatch(text):
        return None
    from renderlayer.parsers.values.python_value import PythonValue

    written, end, complete = PythonValue().convert(text, 0, True)
    if not complete or text[end:].strip():
        return None
    try:
        return written if isinstance(json.loads(written), kind) else None
    except (ValueError, RecursionError):
        return None
