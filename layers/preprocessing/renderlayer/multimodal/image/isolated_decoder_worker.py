"""What a worker of `rare` does with an image file: look at its header, check its pixels, or give them."""

from __future__ import annotations

import math
from typing import Any

from renderlayer.multimodal.image import pillow
from renderlayer.multimodal.source import damage


def work(request: dict[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
    """Answers with "error" where the file is at fault."""
    try:
        return _DO[request["do"]](request, data)
    except MemoryError:
        raise
    except Exception as error:
        return {"error": damage(error)}, b""


def _header(request: dict[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
    return {"size": pillow.opened_as_any(data, math.inf).size}, b""


def _inspect(request: dict[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
    image = pillow.opened_as_any(data, math.inf)
    image.load()
    said = {"size": image.size, "mode": image.mode, "transparent": image.has_transparency_data}
    return {**said, "orientation": pillow.orientation(image, data)}, b""


def _decode(request: dict[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
    upright = pillow.turned(pillow.opened_as_any(data, math.inf), data)
    image = pillow.converted(upright, request["mode"], request["background"])
    palette = image.getpalette("RGBA") if image.mode in ("P", "PA") else None
    return {"mode": image.mode, "size": image.size, "palette": palette}, image.tobytes()


_DO = {"header": _header, "inspect": _inspect, "decode": _decode}
