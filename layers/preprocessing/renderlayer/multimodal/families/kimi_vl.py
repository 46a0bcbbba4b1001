"""Kimi-VL: the image at its own size within a budget of patches, padded or cut to whole squares of patches.

Its processor resizes with Pillow.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from renderlayer.errors import BadRequest
from renderlayer.multimodal.families.base import Facts, Options, Plain, Plan, options
from renderlayer.multimodal.families.defaults import CLIP_MEAN, CLIP_STD
from renderlayer.multimodal.families.sizes import Size
from renderlayer.multimodal.image.picture import Picture
from renderlayer.multimodal.tensor import Field, Fields, int64

_DEFAULTS = {
    "patch_size": 14,
    "pad_input": False,
    "in_token_limit": 4096,
    "merge_kernel_size": [2, 2],
    "image_mean": CLIP_MEAN,
    "image_std": CLIP_STD,
}
_POSITIONS = 512  # patches that a side may have


class KimiVL(Plain):
    """Kimi-VL with its MoonViT tower."""

    modalities = ("image",)
    gaps: Mapping[str, str] = {"image": "the image processor comes with the model and is not compared with"}

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.image = facts.token("<|media_pad|>", "media_placeholder_token_id")
        self.embeds_token = self.image

    def placeholder(self, modality: str, ordinal: int) -> str:
        return "<|media_start|>image<|media_content|><|media_pad|><|media_end|>"

    def target(self, modality: str) -> list[int]:
        return [self.image]

    def plan(self, modality: str, media: Picture, kwargs: Mapping[str, Any]) -> Plan:
        chosen = options({**_DEFAULTS, **self.facts.image}, kwargs, "images_kwargs")
        patch, merge = int(chosen["patch_size"]), chosen["merge_kernel_size"]
        width, height = media.size
        inner = _within((height, width), patch, int(chosen["in_token_limit"]))
        size = _whole(inner, (merge[0] * patch, merge[1] * patch), chosen["pad_input"])
        rows, columns = size[0] // patch, size[1] // patch
        if not rows or not columns or max(rows, columns) >= _POSITIONS:
            raise BadRequest("The image is too small or too long for the model's positions.")
        grid = Field(int64([rows, columns]), "batched", keep_on_cpu=True)

        def fields() -> Fields:
            return {"pixel_values": Field(_patches(media, inner, size, chosen), "flat"), "image_grid_hws": grid}

        return Plan([self.image] * (rows * columns // (merge[0] * merge[1])), {"image_grid_hws": grid}, fields)


def _within(size: Size, patch: int, budget: int) -> Size:
    """The size, reduced until its patches are within the budget."""
    height, width = size
    patches = (height // patch) * (width // patch)
    if patches <= budget:
        return size
    scale = math.sqrt(budget / patches)
    return int(height * scale), int(width * scale)


def _whole(size: Size, step: Size, padded: bool) -> Size:
    """The size in whole steps: enlarged or cut."""
    if padded:
        return -(-size[0] // step[0]) * step[0], -(-size[1] // step[1]) * step[1]
    return size[0] // step[0] * step[0], size[1] // step[1] * step[1]


def _patches(picture: Picture, inner: Size, size: Size, chosen: Options) -> Any:
    """bfloat16 of shape (patches, 3, patch, patch)."""
    from PIL import Image

    from renderlayer.multimodal.image import processing

    image = picture.rgb()
    if image.size != (inner[1], inner[0]):
        image = image.resize((inner[1], inner[0]), Image.Resampling.BICUBIC)
    planes = processing.planes(image)
    planes = processing.padded(planes, (0, 0), size) if chosen["pad_input"] else processing.centred(planes, size)
    patch = int(chosen["patch_size"])
    mean, std = tuple(chosen["image_mean"]), tuple(chosen["image_std"])
    recipe = processing.Recipe("bicubic", 1 / 255, mean, std, fused=False)
    return processing.finished(processing.tiles(planes, (patch, patch)), recipe)
