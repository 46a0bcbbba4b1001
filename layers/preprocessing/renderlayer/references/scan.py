"""Where references stand in the JSON text of a generate request, found without decoding it.

The text is read token by token with a regular expression that skips numbers and passes over long strings at once; a
path of keys is kept. An entry is a string that stands directly in a list under a modality, as the wire has it
(docs/wire.md 4.6), and begins with `s3:` in plain letters; its other letters may be escaped. What is no valid JSON, or
has entries of another kind, is left to the engine to refuse.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count

from renderlayer.errors import BadRequest
from renderlayer.references.address import SCHEME

MARK = SCHEME.encode()
_STRING = rb'"(?P<text>[^"\\]*+(?:\\.[^"\\]*+)*+)"'
_TOKEN = re.compile(rb"[^\"{\[}\]]*+(?:" + _STRING + rb"(?P<key>\s*+:)?+|(?P<open>[{\[])|[}\]])", re.DOTALL)
_ENTRY = re.compile(rb"\s*+(?:" + _STRING + rb"|[^,\]\[{}\"]++)\s*+(?P<more>,?+)", re.DOTALL)
_OPEN = re.compile(rb"\s*+[\[{]")
_MORE = re.compile(rb"\s*+(?P<more>,?+)")
MOST_PARTS = 1_000_000
"""Strings, lists and objects of a body; numbers are no parts."""
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
    """Every reference in a slot of `kwargs_data` or `mm_metadata`, and in `request_ref`, in order.

    Raises:
        BadRequest: the body has more parts than a generate request can.
    """
    found: list[Found] = []
    keys: list[str | None] = []  # one a container: the key under which the next value stands, None in a list
    at, left = 0, count(MOST_PARTS, -1)
    while token := _TOKEN.match(body, at):
        at = token.end()
        _bound(left)
        if token["open"]:
            listed = token["open"] == b"["
            if listed and len(keys) == 3 and tuple(keys[:2]) in _SLOTS and keys[2] is not None:
                at = _entries(body, at, f"{keys[0]}.{keys[1]}.{keys[2]}", found, left)
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


def _bound(left: Iterator[int]) -> None:
    if next(left) < 0:
        raise BadRequest("The body has too many parts to be searched for references.")


def _entries(body: bytes, at: int, path: str, found: list[Found], left: Iterator[int]) -> int:
    """Note the references among the entries of the list that begins at `at`; where the last entry ends."""
    for index in count():
        _bound(left)
        entry = _ENTRY.match(body, at)
        if entry is None:  # a list or an object, whose own entries are none of the slot's, or the end
            opened = _OPEN.match(body, at)
            if opened is None:
                return at
            at = _closed(body, opened.end(), left)
            entry = _MORE.match(body, at)
            assert entry is not None
        else:
            _note(body, entry, f"{path}[{index}]", found)
        at = entry.end()
        if not entry["more"]:
            break
    return at


def _closed(body: bytes, at: int, left: Iterator[int]) -> int:
    """Where the container that is open at `at` ends."""
    depth = 1
    while depth and (token := _TOKEN.match(body, at)):
        _bound(left)
        at = token.end()
        if token["open"]:
            depth += 1
        elif token.start("text") < 0:
            depth -= 1
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
