"""Response templates as they are read at the start: what is refused, and where their delimiters are found."""

from __future__ import annotations

from typing import Any

import pytest

from renderlayer.errors import ConfigurationError
from renderlayer.parsers.response_template.delimiters import Watch
from renderlayer.parsers.response_template.patterns import PatternError, read_pattern
from tests.parsers.support import opened
from tests.parsers.templates import OBJECTS


def without(kind: str) -> dict[str, Any]:
    return {**OBJECTS, "fields": {name: field for name, field in OBJECTS["fields"].items() if name != kind}}


def with_field(kind: str, **changes: Any) -> dict[str, Any]:
    fields = {**OBJECTS["fields"], kind: {**OBJECTS["fields"][kind], **changes}}
    return {**OBJECTS, "fields": fields}


@pytest.mark.parametrize(
    ("tool", "reasoning", "template", "message"),
    [
        ("hf", "qwen3", OBJECTS, "--reasoning-parser qwen3 and --tool-call-parser hf cannot be combined"),
        ("hermes", "beam", OBJECTS, "--reasoning-parser beam and --tool-call-parser hermes cannot be combined"),
        ("beam", "hf", OBJECTS, "--reasoning-parser hf and --tool-call-parser beam cannot be combined"),
        ("openai", "hf", OBJECTS, "--reasoning-parser hf and --tool-call-parser openai cannot be combined"),
        ("hf", None, {}, "The hf parser requires `response_template` metadata"),
        (None, "beam", {}, "The beam parser requires `response_template` metadata"),
        ("hf", "hf", without("thinking"), "--reasoning-parser hf requires .* thinking field"),
        ("beam", "beam", without("tool_calls"), "--tool-call-parser beam requires .* tool_calls field"),
        ("hf", None, {"fields": {}}, "Invalid response_template metadata: the fields must be among"),
        ("hf", None, {**OBJECTS, "fields": {"reasoning_content": {}}}, "not reasoning_content"),
        ("hf", None, {**OBJECTS, "version": 2}, "unsupported version 2"),
        ("hf", None, {**OBJECTS, "end_anchor": "x"}, "unknown keys end_anchor"),
        ("hf", None, {**OBJECTS, "start_anchor": None}, "start_anchor or start_anchor_pattern is missing"),
        ("hf", None, {**OBJECTS, "start_anchor_pattern": "x"}, "both start_anchor and start_anchor_pattern"),
        ("hf", None, with_field("thinking", content="json"), "only plain text can be streamed"),
        ("hf", None, with_field("thinking", open=""), "open must be a text or a list of texts"),
        ("hf", None, with_field("content", close_pattern=r"\s*"), "a delimiter may match nothing"),
        ("hf", None, with_field("tool_calls", open_pattern="(?<=x)<do>"), r"\(\?<= cannot be told in a stream"),
        ("hf", None, with_field("tool_calls", content="text"), "content must be one of json"),
        ("hf", None, with_field("tool_calls", transform={"a": 1}), "transform must give function.name"),
        ("hf", None, with_field("tool_calls", content="xml-inline"), "this transform of xml-inline"),
    ],
)
def test_the_start_is_refused(tool: str | None, reasoning: str | None, template: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        opened(tool, reasoning, tokens=[], template=template)


@pytest.mark.parametrize(
    "pattern",
    [
        *("(", ")", "a)", "[", "*", "a**", "(a*)*", "(?:a+|b)+", "x{300}", "x{2,1}", "(?P<a>x", "\\", r"\x1", "[z-a]"),
        *(r"\1", r"\bx", "^x", "(?i)x", "(?<=a)x", ".*.*.*.*.*.*.*.*.*", "(?P<a>x)(?P<a>y)", "(" * 100, 7, None),
    ],
)
def test_patterns_that_cannot_be_told_in_a_stream_are_refused(pattern: Any) -> None:
    with pytest.raises(PatternError):
        read_pattern(pattern)


@pytest.mark.parametrize(
    ("pattern", "text", "spans"),
    [
        (r"a(?:b+c|b)", "abbab", [(0, 2), (3, 5)]),
        (r"a(?:b+c|b)", "abbc", [(0, 4)]),
        (r"\s*<x>", "a \n <x>b <x", [(1, 7)]),
        (r"<x>(?!!)", "<x>!<x>a<x>", [(4, 7), (8, 11)]),
        (r"[^]<]+>|\[", "ab>[", [(0, 3), (3, 4)]),
        (r"x(?=y)", "xyx", [(0, 1)]),
        (r"x$", "x\nx\n", [(2, 3)]),
        (r"\x41{2}\u00e9?|\.", "AAé.A", [(0, 3), (3, 4)]),
    ],
)
def test_delimiters_are_found_at_the_same_places_wherever_the_text_is_cut(
    pattern: str, text: str, spans: list[tuple[int, int]]
) -> None:
    watch = Watch([read_pattern(pattern)])

    for size in (1, 2, 3, len(text)):
        found, start, end = [], 0, 0
        while start < len(text):
            end = min(len(text), end + size)
            final = end == len(text)
            place = watch.find(text[:end], start, final)
            while not isinstance(place, int):
                found.append(place.match.span())
                start = place.match.end()
                place = watch.find(text[:end], start, final)
            start = len(text) if final else place
        assert found == spans
