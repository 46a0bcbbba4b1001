"""Tensors and fields of a multimodal item, independent of numpy and torch (wire.md 4.7)."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["batched", "flat", "shared"]


@dataclass(frozen=True)
class Deferred:
    """Bytes that are written where they are wanted, so that large tensors are not copied."""

    size: int
    write: Callable[[memoryview], None]


@dataclass(frozen=True)
class Tensor:
    """A dense tensor: torch's dtype name, its shape, and the bytes, row-major and little-endian."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes | memoryview | Deferred

    def content(self) -> bytes | memoryview | bytearray:
        """The bytes, written out if need be."""
        if not isinstance(self.data, Deferred):
            return self.data
        out = bytearray(self.data.size)
        self.data.write(memoryview(out))
        return out


@dataclass(frozen=True)
class Field:
    """A named value of an item and how the engine batches it.

    Args:
        value: a tensor, a list of tensors, or plain numbers and strings.
        kind: "batched" (rows are stacked), "flat" (items are concatenated along `dim`), "shared".
        keep_on_cpu: the engine reads it on the host; such fields are the item's metadata on the wire.
        dim: the axis along which flat items are concatenated.
    """

    value: Any
    kind: Kind
    keep_on_cpu: bool = False
    dim: int = 0


Fields = Mapping[str, Field]


def int64(values: int | Sequence[int]) -> Tensor:
    """A tensor of a number (no dimension) or of a list of numbers (one dimension)."""
    if isinstance(values, int):
        return Tensor("int64", (), struct.pack("<q", values))
    return Tensor("int64", (len(values),), struct.pack(f"<{len(values)}q", *values))


def int32(values: Sequence[int]) -> Tensor:
    """A tensor of a list of numbers (one dimension)."""
    return Tensor("int32", (len(values),), struct.pack(f"<{len(values)}i", *values))


def bfloat16(value: float) -> Tensor:
    """A tensor of one number and no dimension, rounded to bfloat16, ties to even."""
    (bits,) = struct.unpack("<I", struct.pack("<f", value))
    return Tensor("bfloat16", (), struct.pack("<H", (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16))
