"""What is said in a round trip: answers with calls of every kind, and answers that only look like calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Said:
    """An assistant's turn.

    Attributes:
        case: what is special about it, in words.
        calls: name and arguments of each call.
    """

    case: str
    reasoning: str = ""
    content: str = ""
    calls: tuple[tuple[str, Json], ...] = ()


def _tool(name: str, parameters: Json) -> Json:
    described = {"name": name, "description": f"Calls {name}.", "parameters": parameters}
    return {"type": "function", "function": described}


_KINDS: dict[str, Json] = {
    "text": {"type": "string"},
    "count": {"type": "integer"},
    "ratio": {"type": "number"},
    "flag": {"type": "boolean"},
    "nothing": {"type": "null"},
    "items": {"type": "array", "items": {"type": ["string", "number", "boolean", "null"]}},
    "fields": {"type": "object"},
}


def _tools(kinds: Json) -> list[Json]:
    return [
        _tool("record", {"type": "object", "properties": kinds}),
        _tool("ping", {"type": "object", "properties": {}}),
        _tool("mcp__files__read-file", {"type": "object", "properties": {"file-path": {"type": "string"}}}),
    ]


TOOLS = _tools(_KINDS)
"""Functions that the calls call: every parameter has a type."""
PLAINER_TOOLS = _tools({**_KINDS, "nothing": {}})
"""The same for templates that know no null."""

USER = {"role": "user", "content": "Go ahead."}

_STRINGS: dict[str, str] = {
    "a string": "Oslo",
    "an empty string": "",
    "a string that is a number": "3",
    "a string that is a boolean": "true",
    "a string that is null": "null",
    "a string that is an object": '{"name": "ping", "arguments": {"a": [1]}}',
    "a string that is an array": '["a", 1]',
    "a string with line breaks": "one\ntwo\n\n\tthree",
    "a string that ends with a line break": "one\n",
    "a string that begins with a line break": "\none",
    "a string with spaces around it": "  one  ",
    "a string with double quotes": 'say "hello", "x"',
    "a string with single quotes": "it's 'quoted'",
    "a string with backslashes": "C:\\new\\table \\u00e9 \\",
    "a string with unicode": "Zürich 東京 👍🏽 é \u2028",
    "a string with markup": '<b class="x">5 > 3 & 2 < 4</b> &lt;br/&gt;',
    "a string with brackets": "f(a=[1, {2: 3}]), }} ]) {",
    "a string with a code fence": '```json\n{"a": 1}\n```',
    "a string with program text": "def f(x):\n    return f'{x}' if x else \"\"\n# done",
    "a string with template text": "{{ name }} {% if x %}%s{% endif %}",
    "a string with thinking markup": "use <think> and </think> tags",
    "a long string": "All work and no play. " * 80,
}

_VALUES: dict[str, tuple[str, Any]] = {
    "an integer": ("count", 42),
    "zero": ("count", 0),
    "a negative integer": ("count", -7),
    "a large integer": ("count", 9007199254740993),
    "a fraction": ("ratio", 2.5),
    "a small fraction": ("ratio", 1.5e-07),
    "a whole number as a fraction": ("ratio", 3.0),
    "true": ("flag", True),
    "false": ("flag", False),
    "null": ("nothing", None),
    "an empty array": ("items", []),
    "an array of all types": ("items", [1, "two", 2.5, True, False, None, [], {}]),
    "an array of strings": ("items", ["it's", 'say "x"', "a, b", "[c]", "line\nbreak", "東京"]),
    "nested arrays": ("items", [[1, [2]], [["x"]]]),
    "an empty object": ("fields", {}),
    "an object of all types": ("fields", {"a": 1, "b": "two", "c": None, "d": True, "e": [1.5], "f": {"g": "h"}}),
    "an object with odd keys": ("fields", {"a b": 1, "c-d": "x", "é": 2, "f.g": 3, "type": "string"}),
    "an object with markup": ("fields", {"html": "<p>a & b</p>", "note": 'it\'s\n"so"'}),
}

_THOUGHT = "The user wants\n\nit done — step by step."
_SPOKEN = "Certainly: here it is."
_OSLO: tuple[str, Json] = ("record", {"text": "Oslo", "count": 3})
_PING: tuple[str, Json] = ("ping", {})


def answers(markers: Sequence[str]) -> Iterator[Said]:
    """All turns.

    Args:
        markers: texts that mean something in the model's format; they are put into strings.
    """
    yield Said("a call", calls=(_OSLO,))
    for case, text in _STRINGS.items():
        yield Said(case, calls=(("record", {"text": text}),))
    for marker in markers:
        yield Said(f"a string with {marker.strip()}", calls=(("record", {"text": f"before {marker} after"}),))
    for case, (key, value) in _VALUES.items():
        yield Said(case, calls=(("record", {key: value}),))
    yield from _structures()
    yield from _thoughts()
    yield from _texts()


def _structures() -> Iterator[Said]:
    yield Said("no arguments", calls=(_PING,))
    yield Said("many arguments", calls=(("record", dict(_VALUES.values())),))
    yield Said("two calls", calls=(_OSLO, ("record", {"text": "Rome", "items": ["x"]})))
    yield Said("the same call twice", calls=(_OSLO, _OSLO))
    yield Said("three calls, one without arguments", calls=(_OSLO, _PING, ("record", {"flag": False})))
    yield Said("two calls without arguments", calls=(_PING, _PING))
    yield Said("names with hyphens and underscores", calls=(("mcp__files__read-file", {"file-path": "/tmp/a b"}),))


def _thoughts() -> Iterator[Said]:
    yield Said("content before a call", content=_SPOKEN, calls=(_OSLO,))
    yield Said("content before two calls", content="One.\n\nTwo.", calls=(_OSLO, _PING))
    yield Said("reasoning before a call", reasoning=_THOUGHT, calls=(_OSLO,))
    yield Said("reasoning before two calls", reasoning=_THOUGHT, calls=(_PING, _OSLO))
    yield Said("reasoning and content before a call", reasoning=_THOUGHT, content=_SPOKEN, calls=(_OSLO,))
    yield Said("reasoning that speaks of a call", reasoning="I could call record(text='x') here.", calls=(_OSLO,))
    yield Said("reasoning and content", reasoning=_THOUGHT, content=_SPOKEN)
    yield Said("reasoning with markup", reasoning="Is 3 < 5 & 5 > 3? <b>Yes</b>.", content=_SPOKEN)


def _texts() -> Iterator[Said]:
    yield Said("content", content=_SPOKEN)
    yield Said("content of several lines", content="# Title\n\n- one\n- two\n\n```python\nprint('x')\n```")
    yield Said("content that is an object", content='{"name": "Alice", "age": 3}')
    yield Said("content that is an object with arguments", content='{"name": "Alice", "arguments": "for and against"}')
    yield Said("content that is an array", content='[{"name": "Alice"}, {"name": "Bob"}]')
    yield Said("content that is a list", content="[1, 2, 3]")
    yield Said("content with markup", content="Write <b>x</b> & <function> or [brackets].")
    yield Said("content with unicode", content="Zürich, 東京 and 👍🏽.")
