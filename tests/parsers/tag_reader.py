"""A small reader of structural tags: which texts a tag lets through. Values of arguments are checked as JSON only."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

Positions = set[int]

_DECODER = json.JSONDecoder()
# In the engine's markup a value may be anything but the beginning of another call.
_CALL_OPENERS = ["invoke name=", "<function=", "<tool_call>"]


def accepts(content: dict[str, Any], text: str) -> bool:
    """Whether the format matches the whole text."""
    return len(text) in ends(content, text, {0})


def ends(content: dict[str, Any], text: str, starts: Positions) -> Positions:
    """Where a match that begins at one of `starts` may end."""
    match content["type"]:
        case "const_string":
            return _literal(content["value"], text, starts)
        case "regex":
            pattern = re.compile(content["pattern"])
            return {
                end for start in starts for end in range(start, len(text) + 1) if pattern.fullmatch(text, start, end)
            }
        case "any_text":
            return _any_text(content["excludes"], text, starts)
        case "json_schema":
            return _value(content["style"], text, starts)
        case "sequence":
            for element in content["elements"]:
                starts = ends(element, text, starts)
            return starts
        case "or":
            return _union(ends(element, text, starts) for element in content["elements"])
        case "optional":
            return starts | ends(content["content"], text, starts)
        case "star":
            return starts | _repeated(partial(ends, content["content"], text), starts)
        case "plus":
            return _repeated(partial(ends, content["content"], text), starts)
        case "tag":
            inner = ends(content["content"], text, _literal(content["begin"], text, starts))
            closings = content["end"] if isinstance(content["end"], list) else [content["end"]]
            return _union(_literal(closing, text, inner) for closing in closings)
        case "tags_with_separator":
            return _separated(content, text, starts)
        case "triggered_tags":
            return _triggered(content, text, starts)
    raise AssertionError(f"the reader does not know {content['type']}")


def _union(found: Iterable[Positions]) -> Positions:
    return set().union(*found)


def _literal(literal: str, text: str, starts: Positions) -> Positions:
    return {start + len(literal) for start in starts if text.startswith(literal, start)}


def _any_text(excludes: list[str], text: str, starts: Positions) -> Positions:
    return {
        end
        for start in starts
        for end in range(start, len(text) + 1)
        if not any(excluded in text[start:end] for excluded in excludes)
    }


def _value(style: str, text: str, starts: Positions) -> Positions:
    if style != "json":
        return _any_text(_CALL_OPENERS, text, starts)
    found = set()
    for start in starts:
        try:
            found.add(_DECODER.raw_decode(text, start)[1])
        except ValueError:
            continue
    return found


def _repeated(step: Callable[[Positions], Positions], starts: Positions) -> Positions:
    found: Positions = set()
    while starts := step(starts) - found:
        found |= starts
    return found


def _tags(content: dict[str, Any], text: str, starts: Positions) -> Positions:
    return _union(ends(entry, text, starts) for entry in content["tags"])


def _separated(content: dict[str, Any], text: str, starts: Positions) -> Positions:
    found = _tags(content, text, starts)
    if content["stop_after_first"]:
        return found
    return found | _repeated(lambda at: _tags(content, text, _literal(content["separator"], text, at)), found)


def _triggered(content: dict[str, Any], text: str, starts: Positions) -> Positions:
    def prose(at: Positions) -> Positions:
        return _any_text([*content["excludes"], *content["triggers"]], text, at)

    def call(at: Positions) -> Positions:
        return _tags(content, text, prose(at))

    calls = call(starts)
    if not content["stop_after_first"]:
        calls |= _repeated(call, calls)
    found = calls if content["stop_after_first"] else prose(calls)
    return found if content["at_least_one"] else found | prose(starts)
