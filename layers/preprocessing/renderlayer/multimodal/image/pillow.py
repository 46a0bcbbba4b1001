"""What Pillow does with an image: open it by its header, turn it upright, convert its mode (wire.md 4.3)."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from threading import Lock
from typing import Any

from PIL import Image, ImageOps

from renderlayer.multimodal.image.truncation_checks import png_may_be_oriented
from renderlayer.multimodal.source import Source
from renderlayer.settings import Settings

# The reference's allow-list; what it leaves out runs other programs or is vector graphics.
# fmt: off
_FORMATS = (
    "PNG", "JPEG", "GIF", "WEBP", "BMP", "DIB", "TIFF", "AVIF", "BLP", "CUR", "DCX", "DDS", "FITS", "FLI",
    "FTEX", "GBR", "ICNS", "ICO", "IM", "IMT", "IPTC", "JPEG2000", "MCIDAS", "MSP", "PCD", "PCX", "PIXAR",
    "PPM", "PSD", "QOI", "SGI", "SPIDER", "SUN", "TGA", "XBM", "XPM", "XVTHUMB",
)
# fmt: on
# Formats whose size, mode and orientation are final as soon as the file is open. The others are decoded at once, and
# by `rare`.
_HEADER_TELLS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "DIB", "PPM", "AVIF", "QOI")
AT_ONCE = frozenset({"WEBP", "AVIF"})
"""Those of them whose decoder cannot be stopped."""
_BLOCK = 1 << 12
"""Bytes given at a time to a decoder that may take long for each; the one of plain JPEG files does not."""
_ORIENTATION = 0x0112
_REGISTER = Lock()


def opened(data: bytes, seconds: float = Settings.media_decode_seconds) -> Image.Image | None:
    """An image of a format whose header tells enough, not decoded yet; None for any other.

    Its decoding stops after `seconds`, except for what is `AT_ONCE`. There is no warning on large images: the caller
    has a limit of its own.

    Raises:
        OSError: its header is too long.
    """
    with _REGISTER:
        Image.preinit()
        from PIL import AvifImagePlugin, QoiImagePlugin, WebPImagePlugin  # noqa: F401
    return _first(_HEADER_TELLS, data, seconds)


def opened_as_any(data: bytes, seconds: float) -> Image.Image:
    """As `opened`, of any format that is taken.

    Raises:
        OSError: it has none.
    """
    with _REGISTER:
        Image.init()
    image = _first(_FORMATS, data, seconds)
    if image is None:
        raise OSError("cannot identify image file <_io.BytesIO object>")
    return image


def _first(formats: Sequence[str], data: bytes, seconds: float) -> Image.Image | None:
    """As `Image.open`, by the first of the formats that takes the file."""
    for name in formats:
        factory, accept = Image.OPEN.get(name, (None, None))
        if factory is None or (accept is not None and accept(data[:16]) is not True):
            continue
        source = Source(data, seconds)
        try:
            image = factory(source, "")
        except (SyntaxError, IndexError, TypeError, struct.error):  # as Image.open: not of this format after all
            continue
        source.opened = True
        if name != "JPEG" or image.info.get("progressive"):
            image.decodermaxblock = _BLOCK
        return image
    return None


def turned(image: Image.Image, data: bytes) -> Image.Image:
    """The first frame as it is meant to be seen; not decoded yet where it need not be turned."""
    return image if orientation(image, data) == 1 else ImageOps.exif_transpose(image)


def orientation(image: Image.Image, data: bytes) -> Any:
    """The EXIF or XMP orientation; Pillow decodes a PNG to find it, so it is asked only when there is one."""
    if image.format == "PNG" and not png_may_be_oriented(data):
        return 1
    return image.getexif().get(_ORIENTATION, 1)


def converted(image: Image.Image, mode: str | None, background: tuple[int, int, int]) -> Image.Image:
    if mode is None:
        image.load()
        return image
    if image.has_transparency_data:
        image = image.convert("RGBA")
        if mode == "RGB":
            opaque = Image.new("RGB", image.size, background)
            opaque.paste(image, mask=image.getchannel("A"))
            return opaque
    if image.mode == mode:
        image.load()
        return image
    return image.convert(mode)
