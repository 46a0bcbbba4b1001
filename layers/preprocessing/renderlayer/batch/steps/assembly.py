"""Joining ranges of objects into one object inside of the store, within its rules for the pieces of an upload."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from renderlayer.storage.bucket import Bucket, Source

LEAST = 5 << 20
"""Bytes of a piece of an upload, but for the last."""
MOST_PIECES = 9_000
"""Pieces of an upload; the store takes 10,000."""
AT_A_TIME = 8
AT_ONCE = 64
"""Pieces that are sent between two looks at the clock."""
RESERVE = 120
"""Seconds before the function's end when the rest is handed on."""


@dataclass(frozen=True)
class Segment:
    """A range of an object, `end` exclusive."""

    key: str
    start: int
    end: int
    etag: str = ""

    @property
    def size(self) -> int:
        return self.end - self.start


Piece = Sequence[Segment]
"""One segment is copied inside of the store where it is large enough; several are read and sent as one."""


def pieces(segments: Iterable[Segment], least: int = LEAST) -> Iterator[Piece]:
    """Group segments so that every piece but the last has at least `least` bytes; large ones stay whole.

    What a group of small ones lacks is taken from the head of the segment that follows.
    """
    small: list[Segment] = []
    held = 0
    for segment in segments:
        if held and segment.size >= least:
            lack = max(least - held, 0)
            middle = segment.start + lack
            yield [*small, replace(segment, end=middle)] if lack else small
            small, held = [], 0
            segment = replace(segment, start=middle)
        if segment.size >= least:
            yield [segment]
        elif segment.size:
            small.append(segment)
            held += segment.size
            if held >= least:
                yield small
                small, held = [], 0
    if small:
        yield small


@dataclass(frozen=True)
class Pace:
    """How work is fitted into the time of a function.

    Attributes:
        reserve: seconds before the function's end when the rest is handed on.
        at_once: pieces that are sent between two looks at the clock.
    """

    reserve: float
    at_once: int


def assemble(
    bucket: Bucket,
    key: str,
    segments: Sequence[Segment],
    time_left: Callable[[], float],
    begun: str | None = None,
    metadata: Mapping[str, str] | None = None,
    pace: Pace | None = None,
) -> str | None:
    """Make one object of ranges of others, unless it is there.

    Args:
        time_left: seconds until the function's end.
        begun: the upload of an earlier call with the same segments.
        metadata: that of the new object.
        pace: None is that of a function without a caller who waits.

    Returns:
        Where the time is short, the upload that is to be gone on with; else None: the object is there.

    Raises:
        Unavailable: the store failed; nothing was made.
        Gone: the upload that was begun is no more.
    """
    total = sum(segment.size for segment in segments)
    planned = list(pieces(segments, max(LEAST, -(-total // MOST_PIECES))))
    if len(planned) == 1 and total < LEAST:
        bucket.create(key, _read(bucket, planned[0]), metadata)
        return None
    etags = bucket.pieces(key, begun) if begun else {}
    upload = begun or bucket.begin(key, metadata)
    try:
        if not _sent(bucket, key, upload, planned, etags, time_left, pace or Pace(RESERVE, AT_ONCE)):
            return upload
        won = bucket.complete(key, upload, etags)
    except BaseException:
        if not begun:
            bucket.abort(key, upload)
        raise
    if not won:
        bucket.abort(key, upload)
    return None


def _sent(
    bucket: Bucket,
    key: str,
    upload: str,
    planned: Sequence[Piece],
    etags: dict[int, str],
    time_left: Callable[[], float],
    pace: Pace,
) -> bool:
    """Send pieces while there is time, whose ETags go into `etags`; whether all are there."""
    missing = [number for number in range(1, len(planned) + 1) if number not in etags]
    with ThreadPoolExecutor(AT_A_TIME, thread_name_prefix="piece") as pool:
        for start in range(0, len(missing), pace.at_once):
            numbers = missing[start : start + pace.at_once]
            sent = pool.map(lambda number: _piece(bucket, key, upload, number, planned[number - 1]), numbers)
            etags.update(zip(numbers, sent, strict=True))
            if time_left() < pace.reserve:
                break
    return len(etags) == len(planned)


def _piece(bucket: Bucket, key: str, upload: str, number: int, piece: Piece) -> str:
    if len(piece) == 1 and piece[0].size >= LEAST:
        return bucket.copy_piece(key, upload, number, piece[0].key, piece[0].start, piece[0].end)
    return bucket.write_piece(key, upload, number, _read(bucket, piece))


def _read(bucket: Bucket, piece: Piece) -> bytes:
    return b"".join(bucket.range(Source(segment.key, segment.etag), segment.start, segment.end) for segment in piece)
