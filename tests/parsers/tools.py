"""Tools and parser names that the tests of `renderlayer.constraints.adjust` share."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from renderlayer.constraints.adjust import Adjustment
from renderlayer.constraints.structural_tags.params import params

NAMED = {"function": {"name": "book"}, "type": "function"}
BOOK_SCHEMA = {
    "type": "object",
    "properties": {"room": {"type": "string"}, "nights": {"type": "integer"}},
    "required": ["room"],
}


class Names(NamedTuple):
    """The active parsers."""

    tool: str = ""
    reasoning: str = ""


def tool(name: str = "book", parameters: Any = BOOK_SCHEMA, **more: Any) -> dict[str, Any]:
    """A tool as it is dumped (wire.md 2.7)."""
    return {"type": "function", "function": {"name": name, "description": None, "parameters": parameters, **more}}


def tag_of(change: Adjustment) -> Any:
    """The format inside the structural tag, which must be the only constraint."""
    found = change.structured_outputs
    assert found is not None
    document = json.loads(found["structural_tag"])
    assert found == params(structural_tag=found["structural_tag"])
    assert list(document) == ["type", "format"]
    assert document["type"] == "structural_tag"
    return document["format"]
