"""Size, mode and orientation of common images from their first bytes, without an imaging library.

Only what is certain is answered: of a file that is unusual in any respect nothing is said, and the library decides.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass

from renderlayer.multimodal.image.truncation_checks import chunks, png_may_be_oriented

_PNG = b"\x89PNG\r\n\x1a\n"
_PNG_MODES = {(8, 0): "L", (8, 2): "RGB", (8, 6): "RGBA"}  # bits and colour type (PNG 11.2.1)
# Chunks before the pixels that change neither mode nor orientation, and their size where it is fixed.
_PNG_PLAIN = {
    b"sRGB": 1,
    b"gAMA": 4,
    b"cHRM": 32,
    b"pHYs": 9,
    b"bKGD": None,
    b"tIME": None,
    b"sBIT": None,
    b"tEXt": None,
}
_PNG_LONGEST = 1 << 16  # bytes of such a chunk

_JPEG_MODES = {1: "L", 3: "RGB"}  # by the number of components
_DQT, _DHT, _SOS, _DRI, _COM, _APP0 = 0xDB, 0xC4, 0xDA, 0xDD, 0xFE, 0xE0
_FRAMES = frozenset({0xC0, 0xC1, 0xC2})  # baseline, extended, progressive
_TABLES = frozenset({_DHT, _DRI, _COM})
_SEGMENTS = 1000  # before the pixels
_XMP = b"http://ns.adobe.com/xap/1.0/\x00"
_EXIF = b"Exif\x00\x00"
_ORIENTATION = 0x0112
_SHORT = 3
_WIDTHS = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4, 16: 8}  # of EXIF's types


@dataclass(frozen=True)
class Header:
    """What an image's header says.

    Args:
        size: (width, height) as stored.
        mode: the mode of the decoded pixels, as Pillow names it.
        orientation: EXIF's, 1 for upright.
    """

    size: tuple[int, int]
    mode: str
    orientation: int


def read_header(data: bytes) -> Header | None:
    """The header of a plain JPEG or PNG file; None for any other."""
    try:
        if data.startswith(b"\xff\xd8\xff"):
            return _jpeg(data)
        return _png(data) if data.startswith(_PNG) else None
    except (IndexError, OSError, struct.error):
        return None


def _png(data: bytes) -> Header | None:
    found: Header | None = None
    for kind, at, size in chunks(data):
        if kind == b"IDAT":
            return None if png_may_be_oriented(data) else found
        body = data[at : at + size]
        (checksum,) = struct.unpack_from(">I", data, at + size)
        if size > _PNG_LONGEST or zlib.crc32(kind + body) != checksum:
            return None
        if kind == b"IHDR" and found is None and size == 13:
            width, height, bits, colour, _, filters, _ = struct.unpack(">IIBBBBB", body)
            mode = _PNG_MODES.get((bits, colour))
            if mode is None or filters or not width or not height:
                return None
            found = Header((width, height), mode, 1)
        elif found is None or _PNG_PLAIN.get(kind, -1) not in (None, size):
            return None
    return None


def _jpeg(data: bytes) -> Header | None:
    frame: tuple[tuple[int, int], str] | None = None
    orientation: int | None = None
    at = 2
    for _ in range(_SEGMENTS):
        sync, marker, length = struct.unpack_from(">BBH", data, at)
        body = data[at + 4 : at + 2 + length]
        if sync != 0xFF or length < 2 or len(body) != length - 2:
            return None
        at += 2 + length
        if marker == _SOS:
            return None if frame is None else Header(*frame, 1 if orientation is None else orientation)
        if marker in _FRAMES and frame is None:
            frame = _frame(body)
            if frame is None:
                return None
        elif marker == _APP0 + 1 and body.startswith(_EXIF) and orientation is None:
            orientation = _exif_orientation(body[len(_EXIF) :])
            if orientation is None:
                return None
        elif not (marker in _TABLES or (marker == _DQT and _quantizes(body)) or _is_plain(marker, body)):
            return None
    return None


def _frame(body: bytes) -> tuple[tuple[int, int], str] | None:
    bits, height, width, components = struct.unpack_from(">BHHB", body)
    mode = _JPEG_MODES.get(components)
    if bits != 8 or mode is None or not width or not height or len(body) != 6 + 3 * components:
        return None
    return (width, height), mode


def _quantizes(body: bytes) -> bool:
    """Whether a segment holds whole tables of 64 entries of one or two bytes."""
    at = 0
    while at < len(body):
        at += 1 + 64 * (2 if body[at] >> 4 else 1)
    return at == len(body)


def _is_plain(marker: int, body: bytes) -> bool:
    """Whether an application's segment has no bearing on size, mode and orientation."""
    if marker == _APP0:
        return not body.startswith(b"JFIF") or len(body) >= 12
    if marker == _APP0 + 1:
        return body.startswith(_XMP) and b"tiff:Orientation" not in body
    if marker == _APP0 + 2:
        return body.startswith(b"ICC_PROFILE\x00") and len(body) >= 14
    return marker == _APP0 + 14 and body.startswith(b"Adobe") and len(body) >= 12


def _exif_orientation(tiff: bytes) -> int | None:
    """The orientation in the first directory, 1 where there is none; None for directories with anything odd."""
    order = {b"II*\x00": "<", b"MM\x00*": ">"}.get(tiff[:4])
    if order is None:
        return None
    (directory,) = struct.unpack_from(f"{order}I", tiff, 4)
    (count,) = struct.unpack_from(f"{order}H", tiff, directory)
    found: int | None = None
    for entry in range(directory + 2, directory + 2 + 12 * count, 12):
        tag, kind, number, where = struct.unpack_from(f"{order}HHII", tiff, entry)
        size = _WIDTHS.get(kind, 0) * number
        if not size or (size > 4 and where + size > len(tiff)):
            return None
        if tag == _ORIENTATION:
            if found is not None or (kind, number) != (_SHORT, 1):
                return None
            (found,) = struct.unpack_from(f"{order}H", tiff, entry + 8)
    return 1 if found is None else found
