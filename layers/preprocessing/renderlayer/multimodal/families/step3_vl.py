"""Step3-VL and its successors: the image as a square, behind windows of it where it is large; resized at last."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from renderlayer.errors import BadRequest
from renderlayer.multimodal.families.base import Facts, Plain, Plan
from renderlayer.multimodal.families.defaults import CLIP_MEAN, CLIP_STD
from renderlayer.multimodal.families.sizes import Size, processable
from renderlayer.multimodal.image.picture import Picture
from renderlayer.multimodal.tensor import Field, Fields, Tensor, int64

_LONGEST = 3024  # pixels
_EDGE, _WINDOW = 728, 504  # pixels of the whole's square, and of a window's
_TOKENS, _WINDOW_TOKENS = 169, 81
_SLENDER, _THIN = 1.5, 4  # shapes beyond which small, and large images are seen through smaller windows
_NARROW = 32  # pixels below which thin images are filled up to a square
_ROUNDED_UP = 0.2  # of a window, from which another one is added


class Step3VL(Plain):
    """Images of Step3-VL, Step-VL and Step 3.7."""

    modalities = ("image",)

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        token = facts.lexicon.id_of
        self.patch = facts.token("<im_patch>")
        self.whole = [token("<im_start>"), *[self.patch] * _TOKENS, token("<im_end>")]
        self.part = [token("<patch_start>"), *[self.patch] * _WINDOW_TOKENS, token("<patch_end>")]
        self.newline = token("<patch_newline>")
        self.windowed = bool(facts.config.get("vision_config", {}).get("enable_patch", True))

    def placeholder(self, modality: str, ordinal: int) -> str:
        return "<im_patch>"

    def target(self, modality: str) -> list[int]:
        return [self.patch]

    def plan(self, modality: str, media: Picture, kwargs: Mapping[str, Any]) -> Plan:
        if set(kwargs) - {"enable_patch"}:
            raise BadRequest("Step3-VL's processor has one option, enable_patch.", "mm_processor_kwargs")
        windowed = bool(kwargs.get("enable_patch", self.windowed))
        inner, size = _sizes((media.size[1], media.size[0]))
        window = _window(size) if windowed else 0
        spread = (_stretched(size[0], window), _stretched(size[1], window)) if window else size
        corners = _corners(spread, window) if window else []
        breaks = [index + 1 < len(corners) and corners[index + 1][1] == 0 for index in range(len(corners))]
        tokens: list[Any] = []
        for line_ends in breaks:
            tokens += [*self.part, *([self.newline] if line_ends else [])]
        tokens += self.whole
        metadata = {
            "num_patches": Field(int64(len(corners)), "batched", keep_on_cpu=True),
            "patch_newline_mask": Field(Tensor("bool", (len(corners),), bytes(breaks)), "flat", keep_on_cpu=True),
        }

        def fields() -> Fields:
            whole, parts = _pixels(media, inner, size, spread, window, corners)
            return {
                "pixel_values": Field(whole, "batched"),
                **metadata,
                "patch_pixel_values": Field(parts, "flat"),
            }

        return Plan(tokens, metadata, fields, [token == self.patch for token in tokens])


def _sizes(size: Size) -> tuple[Size, Size]:
    """The image filled up where it is a strip, and that within the longest edge."""
    height, width = size
    if min(size) < _NARROW and not 1 / 4 <= width / height <= 4:
        height = width = max(size)
    inner = (height, width)
    longest = max(inner)
    if longest > _LONGEST:
        scale = _LONGEST / longest
        height, width = int(height * scale), int(width * scale)
    return inner, processable((height, width))


def _window(size: Size) -> int:
    """The edge of the windows; 0 for images that are seen as a whole only."""
    longest, shortest = max(size), min(size)
    if longest < _EDGE:
        return shortest if longest / shortest > _SLENDER else 0
    return min(shortest, _WINDOW) if longest / shortest > _THIN else _WINDOW


def _stretched(length: int, window: int) -> int:
    """The length in whole windows, unless it is shorter than one."""
    if length < window:
        return length
    count = length // window
    return window * (count + (length / window - count > _ROUNDED_UP))


def _corners(size: Size, window: int) -> list[tuple[int, int]]:
    """(top, left) of the windows, row by row."""
    tops, lefts = (_starts(length, window) for length in size)
    return [(top, left) for top in tops for left in lefts]


def _starts(length: int, window: int) -> list[int]:
    count = 1 if length <= window else math.ceil((length - window) / window + 1)
    return [window * index for index in range(count)]


def _pixels(
    picture: Picture, inner: Size, size: Size, spread: Size, window: int, corners: Sequence[tuple[int, int]]
) -> tuple[Tensor, Tensor]:
    """bfloat16 of shape (3, 728, 728), and (windows, 3, 504, 504)."""
    import numpy as np
    from PIL import Image

    from renderlayer.multimodal.arrays import tensor

    image = picture.rgb()
    if image.size != (inner[1], inner[0]):
        canvas = Image.new("RGB", (inner[1], inner[0]), 0)
        canvas.paste(image, (0, 0))
        image = canvas
    seen = image.size
    image = image.resize((size[1], size[0]), Image.Resampling.BILINEAR)
    parts = np.empty((len(corners), 3, _WINDOW, _WINDOW), np.uint16)
    if corners:
        wide = (spread[1], spread[0])
        stretched = image if wide == seen else image.resize(wide, Image.Resampling.BILINEAR)
        for index, (top, left) in enumerate(corners):
            parts[index] = _square(stretched.crop((left, top, left + window, top + window)), _WINDOW)
    return tensor("bfloat16", _square(image, _EDGE)), tensor("bfloat16", parts)


def _square(image: Any, edge: int) -> Any:
    """Bit patterns of bfloat16 of shape (3, edge, edge)."""
    from renderlayer.multimodal.arrays import bfloat16
    from renderlayer.multimodal.image import processing
    from renderlayer.multimodal.image.antialias import resize_antialiased

    recipe = processing.Recipe("bilinear", 1 / 255, tuple(CLIP_MEAN), tuple(CLIP_STD), fused=False)
    return bfloat16(resize_antialiased(processing.normalised(processing.planes(image), recipe), (edge, edge)))
