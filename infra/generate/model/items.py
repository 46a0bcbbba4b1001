"""Multimodal items off the wire: base64 of MessagePack, into tensors (wire.md 4.7)."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgpack
import numpy
import torch

from renderlayer.errors import BadRequest

_RAW = 3  # extension type of tensor bytes
_DTYPES = {
    name: getattr(torch, name)
    for name in ("bfloat16", "float16", "float32", "float64", "int64", "int32", "int16", "int8", "uint8", "bool")
}


@dataclass(frozen=True)
class Field:
    """A named value of an item.

    Attributes:
        value: a tensor, a list of tensors, or plain data.
        kind: "batched" (rows are stacked), "flat" (items are concatenated along `dim`), "shared" (one for all).
        dim: see `kind`.
    """

    value: Any
    kind: str
    dim: int


Item = Mapping[str, Field]


def read_item(text: str) -> Item:
    """Decode one entry of kwargs_data or mm_metadata.

    Raises:
        BadRequest: it is not base64, not MessagePack, or not an item.
    """
    try:
        data = base64.b64decode(text, validate=True)
        entries = msgpack.unpackb(data, ext_hook=_extension, strict_map_key=True)
        return {str(name): _field(entry) for name, entry in entries.items()}
    except (binascii.Error, msgpack.UnpackException, ValueError, TypeError, KeyError, AttributeError) as error:
        kind = "base64" if isinstance(error, binascii.Error) else "an item in MessagePack"
        raise BadRequest(f"A multimodal item cannot be read: it is not {kind}.") from None


class _Raw(bytes):
    """Bytes of a tensor."""


def _extension(code: int, data: bytes) -> _Raw:
    if code != _RAW:
        raise ValueError(f"extension type {code} is not allowed")
    return _Raw(data)


def _field(entry: Mapping[str, Any]) -> Field:
    kind, parameters = entry["field"]
    if kind not in ("batched", "flat", "shared"):
        raise ValueError(f"unknown kind of field {kind!r}")
    return Field(_value(entry["data"]), kind, int(parameters.get("dim", 0)))


def _value(data: Any) -> Any:
    if not isinstance(data, list):
        return data
    if len(data) == 3 and isinstance(data[2], _Raw):
        return _tensor(*data)
    return [_value(entry) for entry in data]


def _tensor(dtype: str, shape: list[int], data: _Raw) -> torch.Tensor:
    """A tensor from torch's name of its type (numpy's for arrays), its shape and its bytes."""
    if dtype in _DTYPES:
        flat = torch.frombuffer(bytearray(data), dtype=_DTYPES[dtype]) if data else torch.empty(0, dtype=_DTYPES[dtype])
    else:
        flat = torch.from_numpy(numpy.frombuffer(data, numpy.dtype(dtype)).copy())
    return flat.reshape(shape)
