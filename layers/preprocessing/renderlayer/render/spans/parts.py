"""Where the texts of messages stand in a prompt: one is changed, and the prompt changes there."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from renderlayer.render.continuing.refusal import NotExtended
from renderlayer.render.continuing.writing import Writer

Json = dict[str, Any]
CONTENT, REASONING, RESULT = "content", "reasoning", "result"


@dataclass(frozen=True, order=True)
class Part:
    """Characters of a prompt that are of a message.

    Attributes:
        kind: "content", "reasoning", "result", or "call n".
    """

    start: int
    end: int
    message: int
    kind: str


def parts_of(text: str, messages: Sequence[Json], writer: Writer, generate: bool) -> list[Part]:
    """The parts of a prompt, in order; what the template leaves out is none.

    Args:
        text: what the messages are written as.
    """
    found: list[Part] = []
    for index, message in enumerate(messages):
        for kind, changed in _changed(message):
            other = _written([*messages[:index], changed, *messages[index + 1 :]], writer, generate)
            if other is None or other == text:
                continue
            start = common_start(text, other)
            end = len(text) - common_end(text[start:], other[start:])
            if end > start:
                found.append(Part(start, end, index, kind))
        found += _calls(text, messages, index, writer)
    return sorted(found)


def _changed(message: Json) -> Iterator[tuple[str, Json]]:
    """The message with one of its texts changed, for each of them."""
    content = message.get("content")
    kind = RESULT if message["role"] == "tool" else CONTENT
    if isinstance(content, str) and content.strip():
        yield kind, {**message, "content": _other(content)}
    elif isinstance(content, list):
        for at, part in enumerate(content):
            if isinstance(part, dict) and isinstance(part.get("text"), str) and part["text"].strip():
                parts = [*content[:at], {**part, "text": _other(part["text"])}, *content[at + 1 :]]
                yield kind, {**message, "content": parts}
    for name in ("reasoning", "reasoning_content"):
        if isinstance(message.get(name), str) and message[name].strip():
            yield REASONING, {**message, name: _other(message[name])}
            return


def _other(text: str) -> str:
    """A text of which neither the first nor the last character is that of `text`."""
    said = text.strip()
    first = "q" if said[0] != "q" else "k"
    last = "q" if said[-1] != "q" else "k"
    return f"{first}{os.urandom(4).hex()}{last}"


def _calls(text: str, messages: Sequence[Json], index: int, writer: Writer) -> Iterator[Part]:
    """Calls end where a prompt with one call more begins to differ, and begin where the one before ends."""
    calls = messages[index].get("tool_calls") or []
    if not calls:
        return
    message = messages[index]
    ends: list[int | None] = []
    for count in range(len(calls) + 1):
        some = [*calls[:count], calls[0]] if count == len(calls) else calls[:count]
        changed = {key: value for key, value in message.items() if key != "tool_calls"}
        other = _written([*messages[:index], {**changed, **({"tool_calls": some} if some else {})}], writer, False)
        ends.append(None if other is None else common_start(text, other))
    for number in range(len(calls)):
        start, end = ends[number], ends[number + 1]
        if start is not None and end is not None and end > start:
            yield Part(start, end, index, f"call {number}")


def _written(messages: Sequence[Json], writer: Writer, generate: bool) -> str | None:
    try:
        return writer.write(messages, generate).text
    except NotExtended:
        return None


def common_start(one: str, other: str) -> int:
    """How many characters both begin with."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def common_end(one: str, other: str) -> int:
    """How many characters both end with."""
    return common_start(one[::-1], other[::-1])
