"""Image files that cost far more than they weigh."""

from __future__ import annotations

import struct
import zlib
from io import BytesIO

from PIL import Image


def scans(count: int, side: int = 1024) -> bytes:
    """A progressive JPEG whose last scan occurs `count` times."""
    made = BytesIO()
    Image.linear_gradient("L").resize((side, side)).convert("RGB").save(made, "JPEG", progressive=True, quality=30)
    data = made.getvalue()
    last = data.rindex(b"\xff\xda")
    return data[:last] + data[last:-2] * count + data[-2:]


def fill_bytes(size: int) -> bytes:
    """A JPEG file whose header is fill bytes."""
    return b"\xff\xd8" + b"\xff" * size + b"\xd9"


def segments(size: int) -> bytes:
    """A JPEG file of empty comments."""
    return b"\xff\xd8" + b"\xff\xfe\x00\x02" * (size // 4) + b"\xff\xd9"


def comments(size: int) -> bytes:
    """A PPM file of empty comments."""
    return b"P6\n" + b"#\n" * (size // 2) + b"1 1 255\n\x00\x00\x00"


def chunks(size: int) -> bytes:
    """A PNG file of empty chunks."""
    head = b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
    return head + _chunk(b"tEXt", b"") * (size // 12) + _chunk(b"IDAT", zlib.compress(b"\0" * 4)) + _chunk(b"IEND", b"")


def pixels_in_chunks(size: int) -> bytes:
    """A PNG file whose pixels come in empty chunks."""
    head = b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
    return head + _chunk(b"IDAT", b"") * (size // 12) + _chunk(b"IDAT", zlib.compress(b"\0" * 4)) + _chunk(b"IEND", b"")


def blocks(size: int) -> bytes:
    """A GIF file of comment blocks of one byte."""
    return b"GIF89a\x01\x00\x01\x00\x00\x00\x00" + b"\x21\xfe\x01a\x00" * (size // 5) + b";"


def lines(size: int) -> bytes:
    """An IM file of comment lines."""
    return b"Comment: a\r\n" * (size // 12)


def directory(size: int) -> bytes:
    """A TIFF file whose directory has as many entries as fit."""
    count = min(65_535, size // 12)
    entries = b"".join(struct.pack("<HHII", 0x8000 + at % 0x7000, 2, 8, 8) for at in range(count))
    return b"II*\x00" + struct.pack("<I", 8) + struct.pack("<H", count) + entries + bytes(4)


def webp(side: int) -> bytes:
    """A plain square, lossless: some bytes a megapixel."""
    return _saved(Image.new("RGB", (side, side), (1, 2, 3)), "WEBP", lossless=True, method=0)


def gif(side: int) -> bytes:
    return _saved(Image.linear_gradient("L").resize((side, side)), "GIF")


def png(side: int) -> bytes:
    return _saved(Image.new("RGBA", (side, side)), "PNG")


def jpeg(side: int) -> bytes:
    return _saved(Image.new("RGB", (side, side)), "JPEG", progressive=True)


def tiff(side: int) -> bytes:
    return _saved(Image.new("RGB", (side, side)), "TIFF", compression="tiff_adobe_deflate")


def jpeg2000(side: int) -> bytes:
    return _saved(Image.new("RGB", (side, side)), "JPEG2000")


SIZED = {"fill bytes": fill_bytes, "segments": segments, "comments": comments, "chunks": chunks, "blocks": blocks}
SIZED |= {"pixels in chunks": pixels_in_chunks, "lines": lines, "directory": directory}
"""By size in bytes."""
SQUARES = {"webp": webp, "gif": gif, "png": png, "jpeg": jpeg, "tiff": tiff, "jpeg2000": jpeg2000}
"""By side in pixels."""


def _saved(image: Image.Image, form: str, **options: object) -> bytes:
    made = BytesIO()
    image.save(made, form, **options)
    return made.getvalue()


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
