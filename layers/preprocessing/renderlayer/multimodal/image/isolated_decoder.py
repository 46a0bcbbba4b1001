"""Images of rare formats, and large ones whose decoder cannot be stopped: decoded in a process with limits."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from renderlayer.confined import Confined, OutOfMemory, OutOfTime
from renderlayer.memory import media_budget
from renderlayer.multimodal.source import too_long
from renderlayer.settings import Settings

if TYPE_CHECKING:
    from PIL import Image

_WORK = "renderlayer.multimodal.image.isolated_decoder_worker:work"
_OVERHEAD = 64 << 20
BYTES_A_PIXEL = 20
"""The most that any decoder holds; measured of JPEG 2000 and WebP."""


def size_of(data: bytes, settings: Settings) -> tuple[int, int]:
    """(width, height) as the header has them.

    Raises:
        OSError: it is no image, damaged, or takes too much; the text says why. So do the others.
    """
    width, height = _asked(data, {"do": "header"}, settings)[0]["size"]
    return width, height


def inspected(data: bytes, settings: Settings) -> dict[str, Any]:
    """Decodes it once. "size" as stored, "mode", "transparent", "orientation"."""
    return _asked(data, {"do": "inspect"}, settings)[0]


def decoded(data: bytes, mode: str | None, background: tuple[int, int, int], settings: Settings) -> Image.Image:
    """The pixels; as `pillow.converted` of the upright image."""
    from PIL import Image

    answer, pixels = _asked(data, {"do": "decode", "mode": mode, "background": background}, settings)
    image = Image.frombytes(answer["mode"], tuple(answer["size"]), pixels)
    if answer["palette"] is not None:
        image.putpalette(answer["palette"], "RGBA")
    return image


def _asked(data: bytes, request: dict[str, Any], settings: Settings) -> tuple[dict[str, Any], bytes]:
    memory = min(BYTES_A_PIXEL * settings.max_image_pixels, media_budget(settings.media_memory_bytes).capacity)
    try:
        answer, pixels = _confined(settings.media_decode_seconds, memory + _OVERHEAD)(request, data)
    except OutOfTime:
        raise OSError(too_long(settings.media_decode_seconds)) from None
    except OutOfMemory:
        raise OSError("decoding takes too much memory") from None
    if "error" in answer:
        raise OSError(answer["error"])
    return dict(answer), pixels


@lru_cache(maxsize=4)
def _confined(seconds: float, memory: int) -> Confined:
    return Confined(_WORK, seconds, memory, most=4 << 30)
