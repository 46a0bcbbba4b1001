"""Phi-4-multimodal in its Hugging Face form, for images: tiles on a padded canvas, and the whole made of them.

The whole is resized after normalising, in floating point: with torch bit for bit, without it to about 1e-6.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from renderlayer.errors import BadRequest
from renderlayer.multimodal.families.base import Facts, Options, Plain, Plan, options
from renderlayer.multimodal.families.defaults import COMMON, HALF
from renderlayer.multimodal.families.internvl import grid
from renderlayer.multimodal.families.sizes import Size, check_tiles
from renderlayer.multimodal.image.picture import Picture
from renderlayer.multimodal.tensor import Field, Fields, int64

_DEFAULTS = {
    **COMMON,
    "size": {"height": 448, "width": 448},
    "patch_size": 14,
    "dynamic_hd": 36,
    "image_mean": HALF,
    "image_std": HALF,
}
_NARROWEST = 10
_WHITE = 255


class Phi4Multimodal(Plain):
    """Images of Phi-4-multimodal."""

    modalities = ("image",)
    portable = False

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        vision = facts.config.get("vision_config", {})
        self.image = int(vision["image_token_id"]) if "image_token_id" in vision else facts.token("<|image|>")

    def placeholder(self, modality: str, ordinal: int) -> str:
        return "<|image|>"

    def target(self, modality: str) -> list[int]:
        return [self.image]

    def plan(self, modality: str, media: Picture, kwargs: Mapping[str, Any]) -> Plan:
        chosen = options({**_DEFAULTS, **self.facts.image}, kwargs, "images_kwargs")
        width, height = media.size
        edge, patch = int(chosen["size"]["height"]), int(chosen["patch_size"])
        rows, columns = _shape((height, width), edge, check_tiles(int(chosen["dynamic_hd"])))
        inner = _inner((height, width), (rows * edge, columns * edge))
        shown = _shown(inner, (rows, columns), edge, patch)
        # Every other patch of what the image covers, a separator a row, and the whole with its own separators.
        count = 256 + 1 + math.ceil(shown[0] / 2) * math.ceil(shown[1] / 2) + math.ceil(shown[0] / 2) + 16
        metadata = {
            "image_sizes": Field(int64([rows * edge, columns * edge]), "batched", keep_on_cpu=True),
            "num_img_tokens": Field(int64(count), "batched", keep_on_cpu=True),
        }

        def fields() -> Fields:
            return {**_fields(media, inner, (rows, columns), shown, chosen), **metadata}

        return Plan([self.image] * count, metadata, fields)


def _shape(size: Size, edge: int, most: int) -> Size:
    """Rows and columns of tiles: as many as the image touches, or of the nearest shape within the limit."""
    height, width = size
    rows, columns = math.ceil(height / edge), math.ceil(width / edge)
    return (rows, columns) if rows * columns <= most else grid(size, (edge, edge), 1, most)


def _inner(size: Size, canvas: Size) -> Size:
    """The size of the image on the canvas.

    Raises:
        BadRequest: it would be too narrow.
    """
    (height, width), (rows, columns) = size, canvas
    across, down = columns / width, rows / height
    inner = (int(height * across), columns) if across < down else (rows, int(width * down))
    if min(inner) < _NARROWEST:
        raise BadRequest(f"the aspect ratio is very extreme {inner}")
    return inner


def _shown(inner: Size, shape: Size, edge: int, patch: int) -> Size:
    """Rows and columns of patches that the image reaches into."""
    sides = (side * edge - own for side, own in zip(shape, inner, strict=True))
    rows, columns = (side * (edge // patch) - empty // patch for side, empty in zip(shape, sides, strict=True))
    return rows, columns


def _fields(picture: Picture, inner: Size, shape: Size, shown: Size, chosen: Options) -> Fields:
    import numpy as np

    from renderlayer.multimodal.arrays import bfloat16, tensor
    from renderlayer.multimodal.image import processing
    from renderlayer.multimodal.image.resize import resize
    from renderlayer.multimodal.image.smooth import resize_float

    edge, patch = int(chosen["size"]["height"]), int(chosen["patch_size"])
    recipe = processing.Recipe.of(chosen)
    # The tiles are resized bilinearly whatever the configuration says, the whole as it says.
    spread = resize(processing.raster(picture), *inner, "bilinear")
    canvas = processing.padded(spread, (0, 0), (shape[0] * edge, shape[1] * edge), fill=_WHITE)
    values = processing.normalised(canvas, recipe)
    whole = resize_float(values, (edge, edge))
    parts = np.concatenate([whole[None], processing.tiles(values, (edge, edge))])
    side = edge // patch
    mask = np.zeros((shape[0] * side, shape[1] * side), np.float32)
    mask[: shown[0], : shown[1]] = 1
    masks = np.concatenate([np.ones((1, side, side), np.float32), processing.tiles(mask[None], (side, side))[:, 0]])
    return {
        "image_pixel_values": Field(tensor("bfloat16", bfloat16(parts)), "batched"),
        "image_attention_mask": Field(tensor("bfloat16", bfloat16(masks)), "batched"),
    }
