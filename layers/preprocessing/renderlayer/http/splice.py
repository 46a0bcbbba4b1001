"""Render answers as JSON, payloads put in as they are: base64 needs no escapes, and no second look at megabytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from renderlayer.wire.common.json_text import dumped_fast

LARGE = 64 << 10
"""Characters from which a payload is spliced."""
_PATH = ("features", "kwargs_data")


def spliced(answer: Any) -> bytes:
    """The answer as compact JSON; its large payloads are taken out of it on the way, so that none is held twice.

    Raises:
        BadRequest: a lone surrogate, which JSON cannot hold.
    """
    if not isinstance(answer, dict) or not any(map(_is_large, _payloads(answer))):
        return dumped_fast(answer)
    return b"".join(list(_pieces(answer, _PATH)))


def _payloads(answer: dict[str, Any]) -> Iterator[Any]:
    data = (answer.get("features") or {}).get("kwargs_data") or {}
    for slots in data.values():
        yield from slots


def _is_large(slot: Any) -> bool:
    return isinstance(slot, str) and len(slot) > LARGE and slot.isascii()


def _pieces(value: dict[str, Any], path: Sequence[str]) -> Iterator[bytes]:
    """An object's JSON; the members of `path` lead to the payloads."""
    before = b"{"
    for key, member in value.items():
        yield before + dumped_fast(key) + b":"
        before = b","
        if not path:
            yield from _slots(member)
        elif key == path[0] and isinstance(member, dict):
            yield from _pieces(member, path[1:])
        else:
            yield dumped_fast(member)
    yield b"{}" if before == b"{" else b"}"


def _slots(slots: list[Any]) -> Iterator[bytes]:
    before = b"["
    for index, slot in enumerate(slots):
        yield before
        before = b","
        if _is_large(slot):
            yield b'"'
            yield slot.encode("ascii")
            yield b'"'
            slots[index] = ""
        else:
            yield dumped_fast(slot)
    yield b"[]" if before == b"[" else b"]"
