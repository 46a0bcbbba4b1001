"""Where references stand in the JSON text of a generate request, found without decoding it.

The text is read token by token with a regular expression that skips numbers and passes over long strings at once; a
path of keys is kept. What is no valid JSON is left to the engine to refuse.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from renderlayer.references.address import SCHEME

MARK = SCHEME.encode()
_STRING = rb'"(?P<text>[^"\\]*+(?:\\.[^"\\]*+)*+)"'
_TOKEN = re.compile(rb"[^\"{\[}\]]*+(?:" + _STRING + rb"(?P<key>\s*+:)?+|(?P<open>[{\[])|[}\]])", re.DOTALL)
_ENTRY = re.compile(rb"\s*+(?:" + _STRING + rb"|[^,\]\[{}\"]++)\s*+(?P<more>,?+)", re.DOTALL)
_SLOTS = (("features", "kwargs_data"), ("features", "mm_metadata"))
REQUEST = "request_ref"


@dataclass(frozen=True)
class Found:
    """A reference in a body.

    Args:
        path: where it stands, such as "features.kwargs_data.image[0]".
        text: the reference.
        start, end: the bytes between its quotation marks.
    """

    path: str
    text: str
    start: int
    end: int


def mentioned(chunks: Sequence[bytes]) -> bool:
    """Whether a reference may stand in a body that came in chunks; a search of bytes, nothing more."""
    before = b""
    for chunk in chunks:
        if MARK in chunk or MARK in before + chunk[: len(MARK) - 1]:
            return True
        before = (before + chunk[-len(MARK) :])[-len(MARK) + 1 :]
    return False


def references(body: bytes) -> list[Found]:
    """Every reference in a slot of `kwargs_data` or `mm_metadata`, and in `request_ref`, in order."""
    found: list[Found] = []
    keys: list[str | None] = []  # one a container: the key under which the next value stands, None in a list
    at = 0
    while token := _TOKEN.match(body, at):
        at = token.end()
        if token["open"]:
            listed = token["open"] == b"["
            if listed and len(keys) == 3 and tuple(keys[:2]) in _SLOTS and keys[2] is not None:
                at = _entries(body, at, f"{keys[0]}.{keys[1]}.{keys[2]}", found)
            keys.append(None if listed else "")
        elif token.start("text") < 0:
            if not keys:
                break
            keys.pop()
        elif token["key"] and keys:
            keys[-1] = _decoded(token["text"])
        elif keys == [REQUEST]:
            _note(body, token, REQUEST, found)
    return found


def _entries(body: bytes, at: int, path: str, found: list[Found]) -> int:
    """Note the references among the entries of the list that begins at `at`; where the last entry ends."""
    index, entry = 0, _ENTRY.match(body, at)
    while entry is not None:
        _note(body, entry, f"{path}[{index}]", found)
        at = entry.end()
        index, entry = index + 1, _ENTRY.match(body, at) if entry["more"] else None
    return at


def _note(body: bytes, token: re.Match[bytes], path: str, found: list[Found]) -> None:
    start, end = token.span("text")
    if start >= 0 and body.startswith(MARK, start):
        found.append(Found(path, _decoded(body[start:end]), start, end))


def _decoded(text: bytes) -> str:
    try:
        return str(json.loads(b'"' + text + b'"'))
    except ValueError:
        return ""
