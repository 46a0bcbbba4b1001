"""Cheap signs, without decoding, that an image file was cut short or made to take long, and whether it is oriented.

No check refuses a file that an encoder wrote; damage inside of compressed data shows only when pixels are computed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

MOST_SCANS = 100
"""Scans of a JPEG file: every one may go over all of its pixels. Encoders write about ten."""
MOST_SEGMENTS = 10_000
"""Parts of a file that are looked at; a PNG file may have more that are of a usual size."""
_USUAL_CHUNK = 1 << 10
_SCAN = b"\xff\xda"
_MARKER_HERE = re.compile(rb"\xff+([^\xff])")
_MARKER = re.compile(rb"\xff+([^\x00\xff\xd0-\xd7])")

_ORIENTING_TEXT = (b"XML:com.adobe.xmp\x00", b"Raw profile type exif\x00")


def check_bounded(data: bytes) -> None:
    """Refuse a JPEG file of many scans.

    Raises:
        OSError: it is one; the text says so.
    """
    if data.startswith(b"\xff\xd8") and data.count(_SCAN) > MOST_SCANS and _scans(data) > MOST_SCANS:
        raise OSError(f"it has more than {MOST_SCANS} scans")


def jpeg_is_whole(data: bytes) -> bool:
    """Whether an end marker follows the first scan: the decoder reads up to it (ITU-T T.81, B.1.1)."""
    return data.rfind(b"\xff\xd9") > _first_scan(data)


def png_is_whole(data: bytes) -> bool:
    """Whether every image data chunk lies inside the file; what follows them may be missing."""
    return all(at + size <= len(data) for kind, at, size in chunks(data) if kind == b"IDAT")


def png_may_be_oriented(data: bytes) -> bool:
    """Whether any chunk, also behind the pixels, could carry an orientation."""
    return any(
        kind == b"eXIf" or (kind in (b"iTXt", b"tEXt", b"zTXt") and data.startswith(_ORIENTING_TEXT, at))
        for kind, at, _ in chunks(data)
    )


def _first_scan(data: bytes) -> int:
    """Where the first start-of-scan marker stands; the file's start when there is garbage between segments."""
    at = 2
    for _ in range(MOST_SEGMENTS):
        found = _MARKER_HERE.match(data, at)
        if found is None or found.end() + 2 > len(data):
            break
        marker, at = found[1][0], found.end()
        if marker == 0xDA:
            return at - 2
        if not (marker == 0x01 or 0xD0 <= marker <= 0xD9):  # all others have a length
            at += int.from_bytes(data[at : at + 2], "big")
    return 0


def _scans(data: bytes) -> int:
    """Start-of-scan markers outside of segments (ITU-T T.81, B.1.1); of a file of very many parts, too many."""
    at, count = 2, 0
    for _ in range(MOST_SEGMENTS):
        found = _MARKER.search(data, at)
        if found is None or found[1] == b"\xd9":
            break
        at = found.end()
        count += found[1] == b"\xda"
        if found[1] != b"\x01":
            at += int.from_bytes(data[at : at + 2], "big")
    else:
        return MOST_SCANS + 1
    return count


def chunks(data: bytes) -> Iterator[tuple[bytes, int, int]]:
    """(type, start of the content, size) of each chunk, up to IEND or the end of the file (PNG 5.3)."""
    at, most = 8, max(MOST_SEGMENTS, len(data) // _USUAL_CHUNK)
    while at + 8 <= len(data):
        size, kind = int.from_bytes(data[at : at + 4], "big"), data[at + 4 : at + 8]
        yield kind, at + 8, size
        if kind == b"IEND":
            return
        at += 12 + size
        most -= 1
        if not most:
            raise OSError("it has too many chunks")
