"""The vocabulary table of a bundle: one binary file that is memory-mapped, never parsed.

Layout, little-endian, each section starting on 8 bytes:

    header    8 s magic, u32 rows (largest id + 1), u32 length (entries), then the offset of each section below as u64
    flags     u8[rows]          PRESENT | SPECIAL | SKIPPED | ADDED
    pieces    u32[rows + 1]     ends of each row's UTF-8 in the piece text
    bytes     u32[rows + 1]     ends of each row's bytes in the byte text
    sorted    u32[length]       ids in the order of their piece's UTF-8, for `id_of`
    piece text, byte text
"""

from __future__ import annotations

import mmap
import struct
import sys
from array import array
from collections.abc import Iterable, Iterator
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from renderlayer.errors import ConfigurationError

PRESENT = 1
SPECIAL = 2
"""A named special token: what incremental detokenization leaves out (wire.md 6.3)."""
SKIPPED = 4
"""Left out by a decode that skips special tokens (the tokenizer file's own `special`)."""
ADDED = 8

_MAGIC = b"RLVOCAB1"
_HEADER = struct.Struct("<8s2I6Q")


class Row(NamedTuple):
    """One vocabulary entry, as the packer writes it."""

    token_id: int
    piece: str
    data: bytes
    flags: int


class VocabularyTable:
    """A mapped table; every lookup is a slice.

    Raises:
        ConfigurationError: the file is not a table of this version.
    """

    def __init__(self, path: Path) -> None:
        with open(path, "rb") as file:
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        if self._map[: len(_MAGIC)] != _MAGIC:
            raise ConfigurationError(f"{path.name} is not a vocabulary table of this version: pack the model again")
        header = _HEADER.unpack_from(self._map)
        self.rows, self.length = header[1:3]
        offsets = header[3:]
        view = memoryview(self._map)
        self.flags = view[offsets[0] : offsets[0] + self.rows]
        self._piece_ends = view[offsets[1] : offsets[1] + 4 * (self.rows + 1)].cast("I")
        self._byte_ends = view[offsets[2] : offsets[2] + 4 * (self.rows + 1)].cast("I")
        self._sorted = view[offsets[3] : offsets[3] + 4 * self.length].cast("I")
        self._pieces, self._bytes = offsets[4], offsets[5]

    def piece(self, token_id: int) -> bytes:
        """UTF-8 of the row's piece; `token_id` must be a row."""
        start, end = self._piece_ends[token_id], self._piece_ends[token_id + 1]
        return self._map[self._pieces + start : self._pieces + end]

    def data(self, token_id: int) -> bytes:
        """Bytes that the row contributes to decoded text; `token_id` must be a row."""
        start, end = self._byte_ends[token_id], self._byte_ends[token_id + 1]
        return self._map[self._bytes + start : self._bytes + end]

    def find(self, piece: bytes) -> int | None:
        """Id of the entry whose piece this is, by binary search."""
        low, high = 0, self.length
        while low < high:
            middle = (low + high) // 2
            if self.piece(self._sorted[middle]) < piece:
                low = middle + 1
            else:
                high = middle
        if low < self.length and self.piece(self._sorted[low]) == piece:
            return self._sorted[low]
        return None

    def with_flag(self, flag: int) -> Iterator[int]:
        """Ids whose flags contain `flag`, ascending."""
        wanted = [value for value in range(16) if value & flag]
        raw = bytes(self.flags)
        if all(value not in raw for value in wanted):
            return iter(())
        return (token_id for token_id, value in enumerate(raw) if value & flag)


def write_table(path: Path, rows: Iterable[Row]) -> None:
    """Write the table of `rows` (ids unique, gaps allowed) to `path`."""
    by_id = {row.token_id: row for row in rows}
    count = max(by_id, default=-1) + 1
    flags, pieces, data = bytearray(count), [b""] * count, [b""] * count
    for token_id, piece, contribution, row_flags in by_id.values():
        flags[token_id] = row_flags | PRESENT
        pieces[token_id] = piece.encode()
        data[token_id] = contribution
    order = sorted(by_id, key=pieces.__getitem__)
    sections = (bytes(flags), _ends(pieces), _ends(data), _integers(order), b"".join(pieces), b"".join(data))
    offsets, position = [], _aligned(_HEADER.size)
    for section in sections:
        offsets.append(position)
        position = _aligned(position + len(section))
    out = bytearray(position)
    _HEADER.pack_into(out, 0, _MAGIC, count, len(by_id), *offsets)
    for offset, section in zip(offsets, sections, strict=True):
        out[offset : offset + len(section)] = section
    path.write_bytes(out)


def _ends(texts: list[bytes]) -> bytes:
    return _integers(accumulate(map(len, texts), initial=0))


def _integers(values: Iterable[int]) -> bytes:
    packed = array("I", values)
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()


def _aligned(position: int) -> int:
    return (position + 7) // 8 * 8
