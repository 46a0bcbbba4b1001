"""Cheap signs, without decoding, that an image file was cut short, and whether it may say how it is oriented.

A check never refuses what the decoder would accept; damage inside of compressed data shows only when pixels are
computed.
"""

from __future__ import annotations

from collections.abc import Iterator

_ORIENTING_TEXT = (b"XML:com.adobe.xmp\x00", b"Raw profile type exif\x00")


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
    while at + 4 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if marker == 0xDA:
            return at
        if marker == 0xFF:  # fill byte
            at += 1
        elif marker == 0x01 or 0xD0 <= marker <= 0xD9:  # markers without a length
            at += 2
        else:
            at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    return 0


def chunks(data: bytes) -> Iterator[tuple[bytes, int, int]]:
    """(type, start of the content, size) of each chunk, up to IEND or the end of the file (PNG 5.3)."""
    at = 8
    while at + 8 <= len(data):
        size, kind = int.from_bytes(data[at : at + 4], "big"), data[at + 4 : at + 8]
        yield kind, at + 8, size
        if kind == b"IEND":
            return
        at += 12 + size
