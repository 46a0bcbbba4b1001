"""Characters that kitoken and `tokenizers` may read differently; texts that hold one go to `tokenizers`.

There are three kinds. Unicode normalization of combining marks depends on the version of Unicode that a library knows:
marks that one takes for unassigned are not put in order. Where a character stands for a space inside the vocabulary,
texts that hold that very character are split otherwise. And a byte for which the vocabulary has no token is left out by
both, but `tokenizers` merges what then stands side by side.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from renderlayer.bundle.decoding import byte_level_piece

_FORMS = {"NFC", "NFD", "NFKC", "NFKD"}
_LAST = 0x1FFFF
"""Planes 0 and 1; the others have no combining marks."""
_BLOCK = 256
_HIGHEST = "\u0345"
"""Combining ypogegrammeni: its class, 240, is the greatest, so every other mark is ordered before it."""


def find_divergent_characters(reference: Any, kitoken: Any, decoder: dict[str, Any]) -> list[tuple[int, int]]:
    """Ranges of code points, both ends included, ascending.

    Args:
        reference: the `tokenizers.Tokenizer`.
        kitoken: the `kitoken.Kitoken` of the same tokenizer.
        decoder: the decoder's description (`decoding`).
    """
    found = set()
    if _FORMS & set(_normalizers(reference)):
        found |= set(_unsettled_marks(reference.normalizer.normalize_str, kitoken))
    if decoder["kind"] == "metaspace":
        found |= set(map(ord, decoder["replacement"]))
    if decoder["kind"] == "byte_level":
        found |= set(_without_token(reference))
    return list(_ranges(sorted(found)))


def _without_token(reference: Any) -> Iterator[int]:
    """Code points of which a byte has no token in a byte-level vocabulary."""
    lacking = {byte for byte in range(256) if reference.token_to_id(byte_level_piece(bytes([byte]))) is None}
    yield from (code for code in range(0x80) if code in lacking)
    if lacking & set(range(0x80, 0xC0)):  # bytes that continue a character are in one of many
        yield from range(0x80, sys.maxunicode + 1)
    else:
        yield from (code for code in range(0x80, sys.maxunicode + 1) if _first_byte(code) in lacking)


def _first_byte(code: int) -> int:
    """The first byte of a character's UTF-8 of several bytes."""
    if code < 0x800:
        return 0xC0 | code >> 6
    return 0xE0 | code >> 12 if code < 0x10000 else 0xF0 | code >> 18


def _normalizers(reference: Any) -> Iterator[str]:
    """Types of all normalizers, those in sequences included."""
    pending = [json.loads(reference.normalizer.__getstate__())] if reference.normalizer is not None else []
    while pending:
        step = pending.pop()
        pending += step.get("normalizers", [])
        yield step["type"]


def _unsettled_marks(normalize: Callable[[str], str], kitoken: Any) -> Iterator[int]:
    """Code points that one side orders before a mark of the greatest class and the other does not.

    Almost all of them agree, so they are tried together, and one by one only where a block does not.
    """

    def agree(codes: Iterable[int]) -> bool:
        text = "\n".join(f"a{_HIGHEST}{chr(code)}" for code in codes)
        ordered: bytes = kitoken.decode(kitoken.encode(text, True), True)
        return ordered == normalize(text).encode()

    codes = [code for code in range(0x300, _LAST + 1) if not 0xD800 <= code < 0xE000]
    for start in range(0, len(codes), _BLOCK):
        block = codes[start : start + _BLOCK]
        if not agree(block):
            yield from (code for code in block if not agree([code]))


def _ranges(codes: list[int]) -> Iterator[tuple[int, int]]:
    start = previous = -2
    for code in codes:
        if code != previous + 1:
            if start >= 0:
                yield start, previous
            start = code
        previous = code
    if start >= 0:
        yield start, previous
