"""Items as MessagePack, canonically: one order of fields, slices of this item alone (wire.md 4.7, 4.8).

Equal inputs give equal bytes in every process, so that payloads can be stored under a content address.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from renderlayer.multimodal.tensor import Deferred, Field, Fields, Tensor

if TYPE_CHECKING:
    from msgpack import Packer

_RAW = 3  # extension type of tensor bytes
_FIXED_EXTENSIONS = {1: b"\xd4", 2: b"\xd5", 4: b"\xd6", 8: b"\xd7", 16: b"\xd8"}
_BUFFER = 1024
"""Bytes that a packer begins with; tensors do not pass through it."""


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
    from msgpack import Packer  # with the first medium: a server of text does without

    packer = Packer(buf_size=_BUFFER)
    yield packer.pack_map_header(len(fields))
    for name, field in fields.items():
        yield packer.pack(name)
        yield from _value({"data": field.value, "field": [field.kind, _parameters(field)]}, packer)


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


def _value(value: Any, packer: Packer) -> Iterator[BodyPiece]:
    if isinstance(value, Tensor):
        yield packer.pack_array_header(3)
        yield packer.pack(value.dtype)
        yield packer.pack(value.shape)
        yield _extension_head(_size(value.data))
        yield value.data
    elif isinstance(value, dict):
        yield packer.pack_map_header(len(value))
        for key, entry in value.items():
            yield packer.pack(key)
            yield from _value(entry, packer)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        yield packer.pack_array_header(len(value))
        for entry in value:
            yield from _value(entry, packer)
    else:
        yield packer.pack(value)


def _extension_head(size: int) -> bytes:
    """What stands before a tensor's bytes; `Packer.pack_ext_type` would copy them."""
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
