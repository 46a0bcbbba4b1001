"""Cutting a file into shards: whole lines, every byte in exactly one shard, wherever its pieces begin and end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import orjson

from renderlayer.batch.steps.fingerprints import FingerprintSet, fingerprint

BOM = b"\xef\xbb\xbf"
"""Passed over at the beginning of a file."""
LARGEST_LINE = 16 << 20
"""Bytes of a line that is still read; a longer one fails."""
MOST_DUPLICATES = 2000
"""Repeated custom_ids a shard: their line numbers travel in its message, of which ten share 256 KB."""


@dataclass(frozen=True)
class Limits:
    """Where a shard ends: with the line that reaches either limit."""

    bytes: int
    lines: int


@dataclass(frozen=True)
class ShardRange:
    """A shard.

    Attributes:
        start, end: its bytes, `end` exclusive.
        first_line: number of its first line in the file, from 1.
        requests: its lines that are not blank.
        duplicates: numbers of its lines whose custom_id an earlier line of the file has.
        too_long: it is one line of more than `LARGEST_LINE` bytes.
    """

    start: int
    end: int
    first_line: int
    requests: int
    duplicates: tuple[int, ...] = ()
    too_long: bool = False


@dataclass
class Sharder:
    """Takes a file piece by piece and gives its shards. It holds one line and one piece at most.

    Attributes:
        at: where the next shard begins.
        line: number of the line there.
        objects: lines so far that are JSON objects.
    """

    limits: Limits
    seen: FingerprintSet
    at: int = 0
    line: int = 1
    objects: int = 0
    _length: int = 0
    _lines: int = 0
    _requests: int = 0
    _duplicates: list[int] = field(default_factory=list)
    _open: bytearray = field(default_factory=bytearray)
    _open_length: int = 0

    def feed(self, piece: bytes) -> Iterator[ShardRange]:
        """The shards that this piece completes."""
        begin = 0
        while (end := piece.find(b"\n", begin)) >= 0:
            if self._open_length:
                self._extend(piece[begin : end + 1])
                yield from self._close()
            else:
                yield from self._take(piece[begin : end + 1], end + 1 - begin)
            begin = end + 1
        if begin < len(piece):
            self._extend(piece[begin:])

    def finish(self) -> Iterator[ShardRange]:
        """The last shards, at the end of the file."""
        if self._open_length:
            yield from self._close()
        yield from self._shard()

    def _extend(self, part: bytes) -> None:
        """Go on with a line that began in another piece; of one that is too long no more than that is kept."""
        self._open_length += len(part)
        if self._open_length > LARGEST_LINE:
            self._open.clear()
        else:
            self._open += part

    def _close(self) -> Iterator[ShardRange]:
        line, length = bytes(self._open), self._open_length
        self._open.clear()
        self._open_length = 0
        yield from self._take(line, length)

    def _take(self, line: bytes, length: int) -> Iterator[ShardRange]:
        if length > LARGEST_LINE:
            yield from self._shard()
            self._count(b"too long", length)
            yield from self._shard(too_long=True)
            return
        self._count(text_of(line, self.line + self._lines), length)
        full = self._length >= self.limits.bytes or self._lines >= self.limits.lines
        if full or len(self._duplicates) >= MOST_DUPLICATES:
            yield from self._shard()

    def _count(self, text: bytes, length: int) -> None:
        if text:
            self._requests += 1
            self._judge(text)
        self._length += length
        self._lines += 1

    def _judge(self, text: bytes) -> None:
        try:
            value = orjson.loads(text)
        except orjson.JSONDecodeError:
            return
        if not isinstance(value, dict):
            return
        self.objects += 1
        custom_id = value.get("custom_id")
        if isinstance(custom_id, str) and not self.seen.add(fingerprint(custom_id)):
            self._duplicates.append(self.line + self._lines)

    def _shard(self, too_long: bool = False) -> Iterator[ShardRange]:
        if not self._lines:
            return
        end = self.at + self._length
        cut = ShardRange(self.at, end, self.line, self._requests, tuple(self._duplicates), too_long)
        self.at, self.line = end, self.line + self._lines
        self._length = self._lines = self._requests = 0
        self._duplicates = []
        yield cut


def text_of(line: bytes, number: int) -> bytes:
    """A line without its end and the space around it; a BOM before line 1 is no part of it. Blank lines are empty."""
    return (line.removeprefix(BOM) if number == 1 else line).strip()
