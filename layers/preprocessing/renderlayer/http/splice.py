"""Render answers as JSON, payloads put in as they are: base64 needs no escapes, and no second look at megabytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from renderlayer.http.body import JSON
from renderlayer.http.execution.threads import in_function
from renderlayer.http.response import Response
from renderlayer.wire.common.json_text import dumped_fast

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

LARGE = 64 << 10
"""Characters from which a payload is spliced."""
_PATH = ("features", "kwargs_data")
_SLICE = 1 << 20


class Pieces(Response):
    """A body in pieces, which are never put together, and sent in slices, of which a server holds one at a time."""

    def __init__(self, pieces: list[bytes], status_code: int = 200) -> None:
        super().__init__(b"", status_code, JSON)
        self._pieces = pieces
        self.headers["content-length"] = str(sum(map(len, pieces)))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        pieces, self._pieces = self._pieces, []
        if in_function(scope):  # which gives its answer as a whole
            await send({"type": "http.response.body", "body": b"".join(pieces), "more_body": False})
            return
        small: list[bytes] = []
        for index, piece in enumerate(pieces):
            if len(piece) < LARGE:
                small.append(piece)
                continue
            pieces[index] = b""
            await send(_part(b"".join(small)))
            small.clear()
            view = memoryview(piece)
            for at in range(0, len(piece), _SLICE):
                await send(_part(bytes(view[at : at + _SLICE])))
        await send({"type": "http.response.body", "body": b"".join(small), "more_body": False})


def _part(body: bytes) -> dict[str, Any]:
    return {"type": "http.response.body", "body": body, "more_body": True}


def spliced(answer: Any) -> list[bytes]:
    """The answer as compact JSON in pieces; its payloads are taken out of it on the way.

    Args:
        answer: payloads may be bytes, as of `memory.payloads_as_bytes`.

    Raises:
        BadRequest: a lone surrogate, which JSON cannot hold.
    """
    if not isinstance(answer, dict) or not any(map(_is_payload, _payloads(answer))):
        return [dumped_fast(answer)]
    return list(_pieces(answer, _PATH))


def _payloads(answer: dict[str, Any]) -> Iterator[Any]:
    data = (answer.get("features") or {}).get("kwargs_data") or {}
    for slots in data.values():
        yield from slots


def _is_payload(slot: Any) -> bool:
    return isinstance(slot, bytes) or (isinstance(slot, str) and len(slot) > LARGE and slot.isascii())


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
        if _is_payload(slot):
            yield b'"'
            yield slot if isinstance(slot, bytes) else slot.encode("ascii")
            yield b'"'
            slots[index] = ""
        else:
            yield dumped_fast(slot)
    yield b"[]" if before == b"[" else b"]"
