"""Images, opened lazily: the header gives size, mode and orientation; pixels come when asked for (wire.md 4.3)."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from threading import Lock
from typing import Any

from PIL import Image, ImageOps

from renderlayer.errors import BadRequest
from renderlayer.multimodal.intact import jpeg_is_whole, png_is_whole, png_may_be_oriented
from renderlayer.settings import Settings

# The reference's allow-list; what it leaves out runs other programs or is vector graphics.
# fmt: off
_FORMATS = (
    "PNG", "JPEG", "GIF", "WEBP", "BMP", "DIB", "TIFF", "AVIF", "BLP", "CUR", "DCX", "DDS", "FITS", "FLI",
    "FTEX", "GBR", "ICNS", "ICO", "IM", "IMT", "IPTC", "JPEG2000", "MCIDAS", "MSP", "PCD", "PCX", "PIXAR",
    "PPM", "PSD", "QOI", "SGI", "SPIDER", "SUN", "TGA", "XBM", "XPM", "XVTHUMB",
)
# fmt: on
# Formats whose size, mode and orientation are final as soon as the file is open. The others are decoded at once.
_HEADER_TELLS = frozenset({"PNG", "JPEG", "MPO", "GIF", "WEBP", "BMP", "DIB", "PPM", "AVIF", "QOI"})
_ORIENTATION = 0x0112
_SIDEWAYS = frozenset({5, 6, 7, 8})
_REGISTER = Lock()


@dataclass(frozen=True)
class ImageIO:
    """Decoding options of `media_io_kwargs.image`.

    Args:
        mode: the mode to convert to, None to keep the file's.
        background: what shows through transparent pixels.
    """

    mode: str | None = "RGB"
    background: tuple[int, int, int] = (255, 255, 255)

    @classmethod
    def parse(cls, options: Mapping[str, Any]) -> ImageIO:
        """Read the options.

        Raises:
            BadRequest: a background that is not three bytes, or an unknown mode.
        """
        background = options.get("rgba_background_color", cls.background)
        if not (
            isinstance(background, (list, tuple))
            and len(background) == 3
            and all(isinstance(part, int) and 0 <= part <= 255 for part in background)
        ):
            raise BadRequest("rgba_background_color must be a list or tuple of 3 integers in the range [0, 255].")
        mode = options.get("image_mode", cls.mode)
        if mode is not None and mode not in Image.MODES:
            raise BadRequest(f"image_mode must be null or one of {', '.join(Image.MODES)}.")
        red, green, blue = background
        return cls(mode, (red, green, blue))

    def config(self) -> dict[str, Any]:
        """The options as they enter the hash of an image that was converted."""
        return {"image_mode": self.mode, "rgba_background_color": self.background}


@dataclass(frozen=True)
class Picture:
    """An image whose header has been read; it holds no pixels.

    Args:
        data: the encoded bytes.
        size: (width, height) after orientation.
        converted: whether decoding changes the mode; such images hash with their options.
    """

    data: bytes
    size: tuple[int, int]
    converted: bool
    io: ImageIO

    def decode(self) -> Image.Image:
        """The pixels, afresh: first frame, upright, transparency composed, in the mode asked for.

        Raises:
            BadRequest: the data are damaged.
        """
        try:
            image = _open(self.data)
            upright = image if _orientation(image, self.data) == 1 else ImageOps.exif_transpose(image)
            return _converted(upright, self.io)
        except Exception as error:
            raise _unloadable(error) from error

    def rgb(self) -> Image.Image:
        """As `decode`, in RGB whatever mode was asked for, as image processors convert."""
        image = self.decode()
        return image if image.mode == "RGB" else image.convert("RGB")


def open_picture(data: bytes, io: ImageIO, most: int = Settings.max_image_pixels) -> Picture:
    """Read the header of an encoded image.

    Args:
        most: pixels that it may have.

    Raises:
        BadRequest: not an image, of a format that is not taken, larger than allowed, or cut short.
    """
    try:
        image = _open(data)
    except Exception as error:
        raise _unloadable(error) from error
    width, height = image.size
    if width * height > most:
        raise BadRequest(f"Failed to load image: {width * height} pixels exceed the limit of {most} pixels")
    try:
        if image.format in _HEADER_TELLS:
            _check_whole(data, image.format)
        else:
            image.load()
        width, height = image.size
        if _orientation(image, data) in _SIDEWAYS:
            width, height = height, width
        converted = io.mode is not None and (image.mode != io.mode or image.has_transparency_data)
    except Exception as error:
        raise _unloadable(error) from error
    return Picture(data, (width, height), converted, io)


def _open(data: bytes) -> Image.Image:
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


def _orientation(image: Image.Image, data: bytes) -> Any:
    """The EXIF or XMP orientation; Pillow decodes a PNG to find it, so it is asked only when there is one."""
    if image.format == "PNG" and not png_may_be_oriented(data):
        return 1
    return image.getexif().get(_ORIENTATION, 1)


def _converted(image: Image.Image, io: ImageIO) -> Image.Image:
    if io.mode is None:
        image.load()
        return image
    if image.has_transparency_data:
        image = image.convert("RGBA")
        if io.mode == "RGB":
            opaque = Image.new("RGB", image.size, io.background)
            opaque.paste(image, mask=image.getchannel("A"))
            return opaque
    if image.mode == io.mode:
        image.load()
        return image
    return image.convert(io.mode)


def _check_whole(data: bytes, form: str | None) -> None:
    if (form in ("JPEG", "MPO") and not jpeg_is_whole(data)) or (form == "PNG" and not png_is_whole(data)):
        raise OSError("image file is truncated")


def _unloadable(error: Exception) -> BadRequest:
    text = str(error).split(" at 0x")[0] or type(error).__name__
    return BadRequest(f"Failed to load image: {text}")
