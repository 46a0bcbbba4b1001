"""Items as MessagePack, canonically: one order of fields, slices of this item alone (wire.md 4.7, 4.8).

Equal inputs give equal bytes in every process, so that payloads can be stored under a content address.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Any

from renderlayer.multimodal.tensor import Deferred, Field, Fields, Tensor

_RAW = 3  # extension type of tensor bytes
_FIXED_EXTENSIONS = {1: b"\xd4", 2: b"\xd5", 4: b"\xd6", 8: b"\xd7", 16: b"\xd8"}

_INTEGERS = (
    (0xCC, ">BB", 0, 1 << 8),
    (0xCD, ">BH", 0, 1 << 16),
    (0xCE, ">BI", 0, 1 << 32),
    (0xCF, ">BQ", 0, 1 << 64),
    (0xD0, ">Bb", -(1 << 7), 0),
    (0xD1, ">Bh", -(1 << 15), 0),
    (0xD2, ">Bi", -(1 << 31), 0),
    (0xD3, ">Bq", -(1 << 63), 0),
)


BodyPiece = bytes | memoryview | Deferred


def pack_item(fields: Fields) -> bytearray:
    """One item as `{name: {"data": …, "field": [kind, {params}]}}`."""
    pieces = list(_item(fields))
    out = bytearray(sum(map(_size, pieces)))
    view, at = memoryview(out), 0
    for piece in pieces:
        end = at + _size(piece)
        if isinstance(piece, Deferred):
            piece.write(view[at:end])
        else:
            view[at:end] = piece
        at = end
    return out


def _item(fields: Fields) -> Iterator[BodyPiece]:
    yield _head(len(fields), 0x80, 0xDE)
    for name, field in fields.items():
        yield from _value(name)
        yield from _value({"data": field.value, "field": [field.kind, _parameters(field)]})


def _parameters(field: Field) -> dict[str, Any]:
    if field.kind == "batched":
        return {"keep_on_cpu": field.keep_on_cpu}
    if field.kind == "shared":
        return {"keep_on_cpu": field.keep_on_cpu, "batch_size": 1}
    before: list[list[int | None]] = [[None, None, None]] * field.dim
    return {
        "keep_on_cpu": field.keep_on_cpu,
        "slices": [[*before, [0, _length(field.value, field.dim), None]]],
        "dim": field.dim,
    }


def _length(value: Any, dim: int) -> int:
    return int(value.shape[dim]) if isinstance(value, Tensor) else len(value)


def _value(value: Any) -> Iterator[BodyPiece]:
    if isinstance(value, Tensor):
        yield _head(3, 0x90, 0xDC)
        yield from _value(value.dtype)
        yield from _value(value.shape)
        yield _extension_head(_size(value.data))
        yield value.data
    elif isinstance(value, dict):
        yield _head(len(value), 0x80, 0xDE)
        for key, entry in value.items():
            yield from _value(key)
            yield from _value(entry)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        yield _head(len(value), 0x90, 0xDC)
        for entry in value:
            yield from _value(entry)
    else:
        yield _scalar(value)


def _scalar(value: Any) -> bytes:
    if value is None:
        return b"\xc0"
    if isinstance(value, bool):
        return b"\xc3" if value else b"\xc2"
    if isinstance(value, int):
        return _integer(value)
    if isinstance(value, float):
        return struct.pack(">Bd", 0xCB, value)
    if isinstance(value, str):
        return _text(value.encode())
    raise TypeError(f"{type(value).__name__} cannot be a field's value")


def _integer(value: int) -> bytes:
    if -0x20 <= value < 0x80:
        return bytes([value & 0xFF])
    for tag, form, least, beyond in _INTEGERS:
        if least <= value < beyond:
            return struct.pack(form, tag, value)
    raise OverflowError("an integer of more than 64 bits cannot be a field's value")


def _text(data: bytes) -> bytes:
    size = len(data)
    if size < 32:
        return bytes([0xA0 | size]) + data
    if size < 1 << 8:
        return struct.pack(">BB", 0xD9, size) + data
    return struct.pack(">BI", 0xDB, size) + data


def _head(count: int, short: int, long: int) -> bytes:
    """The head of a map or array; `long` is the tag with 16 bits of length, the next one that with 32."""
    if count < 16:
        return bytes([short | count])
    if count < 1 << 16:
        return struct.pack(">BH", long, count)
    return struct.pack(">BI", long + 1, count)


def _extension_head(size: int) -> bytes:
    if size in _FIXED_EXTENSIONS:
        return _FIXED_EXTENSIONS[size] + bytes([_RAW])
    if size < 1 << 8:
        return struct.pack(">BBB", 0xC7, size, _RAW)
    if size < 1 << 16:
        return struct.pack(">BHB", 0xC8, size, _RAW)
    return struct.pack(">BIB", 0xC9, size, _RAW)


def _size(piece: BodyPiece) -> int:
    if isinstance(piece, Deferred):
        return piece.size
    return piece.nbytes if isinstance(piece, memoryview) else len(piece)
