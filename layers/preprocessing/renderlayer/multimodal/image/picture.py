"""Images, opened lazily: the header gives size, mode and orientation; pixels come when asked for (wire.md 4.3).

Plain files need no imaging library for that; Pillow opens the others, and decodes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from renderlayer.errors import BadRequest, RenderLayerError
from renderlayer.memory import media_budget
from renderlayer.multimodal.image.header import read_header
from renderlayer.multimodal.image.truncation_checks import check_bounded, jpeg_is_whole, png_is_whole
from renderlayer.multimodal.source import damage
from renderlayer.settings import Settings

if TYPE_CHECKING:
    from PIL import Image

_SIDEWAYS = frozenset({5, 6, 7, 8})  # EXIF orientations that swap the sides
_UNSTOPPABLE_PIXELS = 1 << 24  # of an image whose decoder cannot be stopped, beyond which it has a process of its own
_DEFAULTS = Settings()


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
        if mode is not None and mode != cls.mode:
            from PIL.Image import MODES

            if mode not in MODES:
                raise BadRequest(f"image_mode must be null or one of {', '.join(MODES)}.")
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
        settings: the limits of decoding.
        rare: whether it is decoded in a process of its own.
    """

    data: bytes
    size: tuple[int, int]
    converted: bool
    io: ImageIO
    settings: Settings = _DEFAULTS
    rare: bool = False

    def decode(self) -> Image.Image:
        """The pixels, afresh: first frame, upright, transparency composed, in the mode asked for.

        Raises:
            BadRequest: the data are damaged, or take too long.
            Unavailable: too many of the rare ones are decoded.
        """
        from renderlayer.multimodal.image import pillow

        try:
            if self.rare:
                from renderlayer.multimodal.image.isolated_decoder import decoded

                return decoded(self.data, self.io.mode, self.io.background, self.settings)
            image = pillow.opened(self.data, self.settings.media_decode_seconds)
            assert image is not None
            return pillow.converted(pillow.turned(image, self.data), self.io.mode, self.io.background)
        except RenderLayerError:
            raise
        except Exception as error:
            raise _unloadable(error) from error

    def rgb(self) -> Image.Image:
        """As `decode`, in RGB whatever mode was asked for, as image processors convert."""
        image = self.decode()
        return image if image.mode == "RGB" else image.convert("RGB")


def open_picture(data: bytes, io: ImageIO, settings: Settings = _DEFAULTS) -> Picture:
    """Read the header of an encoded image.

    Args:
        settings: the limits.

    Raises:
        BadRequest: not an image, of a format that is not taken, larger than allowed, cut short, or made to take long.
        Unavailable: too many images of rare formats are opened.
    """
    try:
        check_bounded(data)
        header = read_header(data)
        if header is None:
            return _opened_by_pillow(data, io, settings)
        _check_pixels(header.size, settings)
        _check_whole(data)
    except RenderLayerError:
        raise
    except Exception as error:
        raise _unloadable(error) from error
    converted = io.mode is not None and (header.mode != io.mode or header.mode == "RGBA")
    return Picture(data, _as_shown(header.size, header.orientation), converted, io, settings)


def _opened_by_pillow(data: bytes, io: ImageIO, settings: Settings) -> Picture:
    from renderlayer.multimodal.image import pillow

    image = pillow.opened(data, settings.media_decode_seconds)
    if image is None:
        return _opened_elsewhere(data, io, settings)
    _check_pixels(image.size, settings)
    _check_whole(data)
    size = _as_shown(image.size, pillow.orientation(image, data))
    converted = io.mode is not None and (image.mode != io.mode or image.has_transparency_data)
    large = image.width * image.height > _UNSTOPPABLE_PIXELS
    return Picture(data, size, converted, io, settings, large and image.format in pillow.AT_ONCE)


def _opened_elsewhere(data: bytes, io: ImageIO, settings: Settings) -> Picture:
    from renderlayer.multimodal.image import isolated_decoder

    width, height = isolated_decoder.size_of(data, settings)
    _check_pixels((width, height), settings)
    with media_budget(settings.media_memory_bytes).holding(isolated_decoder.BYTES_A_PIXEL * width * height):
        said = isolated_decoder.inspected(data, settings)
    converted = io.mode is not None and (said["mode"] != io.mode or said["transparent"])
    width, height = said["size"]
    return Picture(data, _as_shown((width, height), said["orientation"]), converted, io, settings, rare=True)


def _as_shown(size: tuple[int, int], orientation: Any) -> tuple[int, int]:
    return (size[1], size[0]) if orientation in _SIDEWAYS else size


def _check_pixels(size: tuple[int, int], settings: Settings) -> None:
    pixels, most = size[0] * size[1], settings.max_image_pixels
    if pixels > most:
        raise BadRequest(f"Failed to load image: {pixels} pixels exceed the limit of {most} pixels")


def _check_whole(data: bytes) -> None:
    if (data.startswith(b"\xff\xd8") and not jpeg_is_whole(data)) or (
        data.startswith(b"\x89PNG") and not png_is_whole(data)
    ):
        raise OSError("image file is truncated")


def _unloadable(error: Exception) -> BadRequest:
    return BadRequest(f"Failed to load image: {damage(error)}")
