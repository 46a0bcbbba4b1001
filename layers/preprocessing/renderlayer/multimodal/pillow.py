"""What Pillow does with an image: open it by its header, turn it upright, convert its mode (wire.md 4.3)."""

from __future__ import annotations

import struct
from io import BytesIO
from threading import Lock
from typing import Any

from PIL import Image, ImageOps

from renderlayer.multimodal.intact import png_may_be_oriented

# The reference's allow-list; what it leaves out runs other programs or is vector graphics.
# fmt: off
_FORMATS = (
    "PNG", "JPEG", "GIF", "WEBP", "BMP", "DIB", "TIFF", "AVIF", "BLP", "CUR", "DCX", "DDS", "FITS", "FLI",
    "FTEX", "GBR", "ICNS", "ICO", "IM", "IMT", "IPTC", "JPEG2000", "MCIDAS", "MSP", "PCD", "PCX", "PIXAR",
    "PPM", "PSD", "QOI", "SGI", "SPIDER", "SUN", "TGA", "XBM", "XPM", "XVTHUMB",
)
# fmt: on
# Formats whose size, mode and orientation are final as soon as the file is open. The others are decoded at once.
HEADER_TELLS = frozenset({"PNG", "JPEG", "MPO", "GIF", "WEBP", "BMP", "DIB", "PPM", "AVIF", "QOI"})
_ORIENTATION = 0x0112
_REGISTER = Lock()


def opened(data: bytes) -> Image.Image:
    """`Image.open` without its warning on large images, for which the caller has a limit of its own.

    The common formats are tried first, since registering all of them takes a while.
    """
    for register in (Image.preinit, Image.init):
        with _REGISTER:
            register()
        for name in _FORMATS:
            factory, accept = Image.OPEN.get(name, (None, None))
            if factory is None or (accept is not None and accept(data[:16]) is not True):
                continue
            try:
                return factory(BytesIO(data), "")
            except (SyntaxError, IndexError, TypeError, struct.error):  # as Image.open: not of this format after all
                continue
    raise OSError("cannot identify image file <_io.BytesIO object>")


def upright(data: bytes) -> Image.Image:
    """The first frame as it is meant to be seen; not decoded yet where it need not be turned."""
    image = opened(data)
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
