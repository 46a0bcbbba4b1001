"""The input of a custom tool, out of the arguments of the function that the model was shown instead (wire.md 2.8).

The model writes `{"input": "…"}`; the API gives the text between the quotes. It is decoded as it comes.
"""

from __future__ import annotations

import json
import re

_OPENING = re.compile(r'\s*\{\s*"input"\s*:\s*"')
LONGEST_REST = 64
"""Characters that are held back at most, until they show what they begin."""
_UNICODE = re.compile(r"\\u[0-9a-fA-F]{4}")

# Before the text, inside it, behind it, and where the arguments are something else, which is passed on as it is.
BEFORE, INSIDE, BEHIND, OTHER = range(4)


class CustomInput:
    """Decodes one call's arguments.

    Args:
        phase, rest: what `memory` gave, to go on where another call ended.
    """

    def __init__(self, phase: int = BEFORE, rest: str = "") -> None:
        self._phase = phase
        self._rest = rest

    def memory(self) -> tuple[int, str]:
        """The phase, and what has been read but not decoded: an opening or an escape in parts."""
        return self._phase, self._rest

    def push(self, text: str) -> str:
        """The input that these arguments add."""
        text, self._rest = self._rest + text, ""
        if self._phase == BEFORE:
            opening = _OPENING.match(text)
            if opening is not None:
                self._phase, text = INSIDE, text[opening.end() :]
            elif _may_open(text):
                self._rest = text
                return ""
            else:
                self._phase = OTHER
        if self._phase == INSIDE:
            return self._decoded(text)
        return text if self._phase == OTHER else ""

    def finish(self) -> str:
        """What never became an input: arguments that end before the text begins."""
        rest, self._rest = self._rest, ""
        return rest if self._phase == BEFORE else ""

    def _decoded(self, text: str) -> str:
        at = 0
        while at < len(text):
            if text[at] == '"':
                self._phase = BEHIND
                return _unescaped(text[:at])
            length = _escape_length(text, at) if text[at] == "\\" else 1
            if length is None:
                self._rest = text[at:]
                return _unescaped(text[:at])
            at += length
        return _unescaped(text)


def _may_open(text: str) -> bool:
    """Whether more text could make this the opening."""
    if len(text) > LONGEST_REST:
        return False
    squeezed = "".join(text.split())
    return '{"input":"'.startswith(squeezed)


def _escape_length(text: str, at: int) -> int | None:
    """Characters of the escape that begins here, surrogate pairs as one; None while it is incomplete."""
    left = len(text) - at
    if left < 2:
        return None
    if text[at + 1] != "u":
        return 2
    if left < 6:
        return None
    if text[at + 2 : at + 4].lower() not in ("d8", "d9", "da", "db"):
        return 6
    if left < 12 and '"' not in text[at + 6 :]:
        return None if text[at + 6 : at + 8] in ("", "\\", "\\u") else 6
    return 12 if _UNICODE.match(text, at + 6) else 6


def _unescaped(text: str) -> str:
    """A JSON string's inside as text; as it stands when it is none."""
    if "\\" not in text:
        return text
    try:
        value = json.loads(f'"{text}"', strict=False)
    except ValueError:
        return text
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if isinstance(value, str) else text
