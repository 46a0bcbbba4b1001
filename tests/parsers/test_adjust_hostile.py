"""Tools made to hurt: the work and the tag stay bounded, and the answer is a refusal."""

from __future__ import annotations

from typing import Any

import pytest

from renderlayer.constraints.adjust import adjust
from renderlayer.errors import BadRequest
from tests.parsers.tools import Names, tag_of, tool


def deep(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"x": schema}}
    return schema


@pytest.mark.parametrize("parser", ["hermes", "glm45", "kimi_k3", "openai"])
def test_a_bottomless_schema_is_refused(parser: str) -> None:
    with pytest.raises(BadRequest, match="too deeply"):
        adjust(Names(parser), [tool(parameters=deep(50_000), strict=True)], "required")


def test_a_bottomless_definition_is_refused() -> None:
    schemas = [{"$defs": {"A": deep(50_000)}} for _ in range(2)]
    with pytest.raises(BadRequest, match="too deeply"):
        adjust(Names("xlam"), [tool(f"t{index}", schema) for index, schema in enumerate(schemas)], "required")


def test_twenty_thousand_tools_are_taken() -> None:
    tools = [tool(f"tool_{index}") for index in range(20_000)]
    content = tag_of(adjust(Names("qwen3_coder"), tools, "required"))
    assert len(content["tags"]) == 20_000


@pytest.mark.parametrize(
    ("parser", "parameters", "strict"),
    [
        ("openai", {"description": "x" * 8_000_000}, True),
        ("glm45", {"properties": {f"p{index}": {} for index in range(200_000)}}, False),
        (
            "kimi_k3",
            {"properties": {f"p{index}": {"type": "null"} for index in range(300)}, "$defs": {"A": "x" * 300_000}},
            True,
        ),
    ],
)
def test_tools_that_would_swell_in_a_tag_are_refused(parser: str, parameters: Any, strict: bool) -> None:
    with pytest.raises(BadRequest, match="too many or too large"):
        adjust(Names(parser), [tool(parameters=parameters, strict=strict)], "required")
