"""Images of all kinds, made here: every mode and format that clients send, and files that are not what they claim."""

from __future__ import annotations

import base64
import random
import struct
import zlib
from collections.abc import Iterator
from io import BytesIO
from typing import Any

from PIL import Image


def picture(width: int, height: int, mode: str = "RGB", seed: int = 0) -> Image.Image:
    """Gradients with speckles: smooth parts, sharp edges, extremes."""
    chance = random.Random(seed)
    bands = []
    for phase in range(3):
        ramp = Image.linear_gradient("L").rotate(90 * (phase + seed)).resize((width, height))
        noise = Image.frombytes("L", (width, height), chance.randbytes(width * height))
        sharp = noise.point(lambda value: 255 if value > 250 else 0)
        bands.append(Image.composite(sharp, ramp, noise.point(lambda value: 255 if value > 200 else 0)))
    image = Image.merge("RGB", bands)
    if mode == "RGBA":
        image.putalpha(Image.radial_gradient("L").resize((width, height)))
        return image
    if mode in ("LA", "PA"):
        rgba = picture(width, height, "RGBA", seed)
        return rgba.convert("LA") if mode == "LA" else rgba.convert("LA").convert("PA")
    if mode == "I;16":
        return Image.frombytes("I;16", (width, height), chance.randbytes(2 * width * height))
    return image.convert(mode)


def encoded(image: Image.Image, form: str = "PNG", **options: Any) -> bytes:
    buffer = BytesIO()
    image.save(buffer, form, **options)
    return buffer.getvalue()


def data_url(data: bytes, kind: str = "image/png") -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


def turned(image: Image.Image, orientation: int, form: str = "JPEG") -> bytes:
    exif = Image.Exif()
    exif[0x0112] = orientation
    return encoded(image, form, exif=exif.tobytes())


def kinds() -> Iterator[tuple[str, bytes]]:
    """(name, file) of valid images."""
    for mode in ("RGB", "RGBA", "L", "LA", "P", "1", "I;16"):
        yield f"png-{mode}", encoded(picture(70, 50, mode))
    yield "png-interlaced", adam7(picture(33, 21))
    yield "png-colour-key", encoded(picture(64, 40), transparency=(0, 0, 0))
    yield "png-grey-key", encoded(picture(64, 40, "L"), transparency=7)
    yield "png-palette-alpha", encoded(picture(64, 40, "RGBA").quantize(32))
    yield "png-turned", turned(picture(60, 30), 8, "PNG")
    for mode in ("RGB", "L", "CMYK"):
        yield f"jpeg-{mode}", encoded(picture(90, 61, mode), "JPEG", quality=88)
    yield "jpeg-progressive", encoded(picture(80, 120), "JPEG", progressive=True)
    for orientation in range(1, 9):
        yield f"jpeg-turned-{orientation}", turned(picture(80, 40), orientation)
    yield "gif", encoded(picture(50, 50, "P"), "GIF")
    yield (
        "gif-animated",
        encoded(picture(40, 30, "P"), "GIF", save_all=True, append_images=[picture(40, 30, "P", 1)], duration=100),
    )
    yield "gif-transparent", encoded(picture(48, 32, "P"), "GIF", transparency=0)
    yield "webp", encoded(picture(64, 48), "WEBP")
    yield "webp-lossless-alpha", encoded(picture(64, 48, "RGBA"), "WEBP", lossless=True)
    yield "webp-animated", encoded(picture(40, 30), "WEBP", save_all=True, append_images=[picture(40, 30, seed=1)])
    yield "webp-turned", turned(picture(64, 32), 6, "WEBP")
    yield "bmp", encoded(picture(31, 17), "BMP")
    yield "tiff", encoded(picture(30, 40), "TIFF")
    yield "tiff-turned", turned(picture(30, 40), 6, "TIFF")
    yield "ppm", encoded(picture(20, 20), "PPM")
    yield "ico", encoded(picture(32, 32), "ICO", sizes=[(32, 32)])
    yield "tga", encoded(picture(20, 24), "TGA")


def adam7(image: Image.Image) -> bytes:
    """An interlaced PNG (Pillow reads but does not write them)."""
    width, height = image.size
    rows = b""
    for x0, y0, dx, dy in (
        (0, 0, 8, 8),
        (4, 0, 8, 8),
        (0, 4, 4, 8),
        (2, 0, 4, 4),
        (0, 2, 2, 4),
        (1, 0, 2, 2),
        (0, 1, 1, 2),
    ):
        for y in range(y0, height, dy):
            line = b"".join(bytes(image.getpixel((x, y))) for x in range(x0, width, dx))  # type: ignore[arg-type]
            rows += b"\x00" + line if line else b""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 1)
    return png(header, rows)


def png(header: bytes, rows: bytes) -> bytes:
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def bomb(width: int, height: int) -> bytes:
    """A PNG that claims to be huge and holds next to nothing."""
    return png(struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0), b"")


def hostile() -> Iterator[tuple[str, bytes]]:
    """(name, file) of what must be refused once its pixels are wanted."""
    whole_png, whole_jpeg = encoded(picture(64, 64)), encoded(picture(64, 64), "JPEG")
    whole_gif, whole_webp = encoded(picture(64, 64, "P"), "GIF"), encoded(picture(64, 64), "WEBP")
    yield "empty", b""
    yield "text", b"hello world"
    yield "html", b"<!doctype html><html><body>not found</body></html>"
    yield "svg", b'<svg xmlns="http://www.w3.org/2000/svg"><image href="file:///etc/passwd"/></svg>'
    yield "eps", b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n(/etc/passwd) run\n"
    yield "pdf", b"%PDF-1.7\n1 0 obj<<>>endobj\n"
    yield "zeros", bytes(4096)
    for name, whole in (("png", whole_png), ("jpeg", whole_jpeg), ("gif", whole_gif), ("webp", whole_webp)):
        yield f"{name}-signature", whole[:8]
        for share in (10, 30, 60):
            yield f"{name}-cut-{share}", whole[: len(whole) * share // 100]
    yield "png-bad-checksum", whole_png[:30] + b"\x00\x00\x00\x00" + whole_png[34:]
    yield "png-bad-deflate", _replaced(whole_png, b"IDAT", b"\xff" * 40)
    yield "png-no-data", b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0))
    yield "png-zero-width", png(struct.pack(">IIBBBBB", 0, 10, 8, 2, 0, 0, 0), b"")
    yield "png-huge-chunk", whole_png[:33] + struct.pack(">I", 0x7FFFFFFF) + b"IDAT" + b"x"
    yield "png-unknown-critical", whole_png[:33] + chunk(b"XXXX", b"?") + b"trailing"
    yield "bomb-square", bomb(60_000, 60_000)
    yield "bomb-line", bomb(2_000_000_000, 1)
    yield "bomb-claims-179MP", bomb(20_000, 8_947)
    yield "strip-wide", encoded(picture(4_000, 2))
    yield "strip-tall", encoded(picture(2, 4_000))
    yield "gif-huge-screen", b"GIF89a" + struct.pack("<HHBBB", 65_535, 65_535, 0, 0, 0) + whole_gif[13:]
    yield "bmp-negative", b"BM" + struct.pack("<IIIIiiHHIIiiII", 54, 0, 54, 40, -5, -(2**31), 1, 24, 0, 0, 0, 0, 0, 0)
    yield "tiff-loop", b"II*\x00\x08\x00\x00\x00\x00\x00\x08\x00\x00\x00"
    yield "riff-wave", b"RIFF\x24\x00\x00\x00WAVEfmt " + bytes(24)
    yield "jpeg-no-tables", b"\xff\xd8\xff\xda\x00\x08\x01\x01\x00\x00\x3f\x00" + bytes(20) + b"\xff\xd9"
    yield "jpeg-12-bit", whole_jpeg.replace(b"\xff\xc0\x00\x11\x08", b"\xff\xc0\x00\x11\x0c")
    yield "jpeg-zero-height", _jpeg_height(whole_jpeg, 0)
    yield "webp-bad-frame", _replaced(whole_webp, b"VP8 ", b"\x10\x00\x00\x00" + b"\xff" * 30)
    yield "gif-no-image", whole_gif[:13] + b"\x3b"
    yield "png-no-palette", png(struct.pack(">IIBBBBB", 8, 8, 8, 3, 0, 0, 1), b"\x00" * 30)
    yield "png-bad-depth", png(struct.pack(">IIBBBBB", 8, 8, 3, 2, 0, 0, 0), b"\x00" * 300)
    yield "ppm-bomb", b"P6\n100000 100000\n255\n" + bytes(64)
    yield "ppm-negative", b"P6\n-4 4\n255\n" + bytes(64)
    yield "psd-bomb", b"8BPS\x00\x01" + bytes(6) + struct.pack(">HIIHH", 3, 30_000, 30_000, 8, 3) + bytes(14)
    yield "sgi-bomb", struct.pack(">HBBHHHH", 474, 0, 1, 3, 65_535, 65_535, 3) + bytes(500)
    yield "qoi-bomb", b"qoif" + struct.pack(">IIBB", 60_000, 60_000, 3, 0) + bytes(8)
    yield "zip", b"PK\x03\x04" + bytes(60)
    yield "elf", b"\x7fELF" + bytes(60)


def _replaced(data: bytes, after: bytes, with_: bytes) -> bytes:
    at = data.index(after) + len(after)
    return data[:at] + with_ + data[at + len(with_) :]


def _jpeg_height(data: bytes, height: int) -> bytes:
    at = data.index(b"\xff\xc0") + 5
    return data[:at] + struct.pack(">H", height) + data[at + 2 :]
