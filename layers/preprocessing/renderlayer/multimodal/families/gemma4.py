"""Gemma 4: the image at its own shape within a budget of patches, padded to the budget."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from renderlayer.errors import BadRequest
from renderlayer.multimodal.families.base import Facts, Options, Plain, Plan, options
from renderlayer.multimodal.families.defaults import COMMON
from renderlayer.multimodal.families.sizes import Size
from renderlayer.multimodal.picture import Picture
from renderlayer.multimodal.tensor import Field, Fields

_DEFAULTS = {**COMMON, "do_normalize": False, "patch_size": 16, "max_soft_tokens": 280, "pooling_kernel_size": 3}
_BUDGETS = (70, 140, 280, 560, 1120)


class Gemma4(Plain):
    """Images of Gemma 4."""

    modalities = ("image",)

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.image = facts.token("<|image|>", "image_token_id")
        self.begin = facts.token("<|image>", "boi_token_id")
        self.end = facts.token("<image|>", "eoi_token_id")

    def placeholder(self, modality: str, ordinal: int) -> str:
        return "<|image|>"

    def target(self, modality: str) -> list[int]:
        return [self.image]

    def plan(self, modality: str, media: Picture, kwargs: Mapping[str, Any]) -> Plan:
        given = {key: value for key, value in self.facts.image.items() if value is not None}
        chosen = options({**_DEFAULTS, **given}, kwargs, "images_kwargs")
        if chosen["max_soft_tokens"] not in _BUDGETS:
            raise BadRequest(f"`max_soft_tokens` must be one of {_BUDGETS}, got {chosen['max_soft_tokens']}.")
        width, height = media.size
        patch, pool = int(chosen["patch_size"]), int(chosen["pooling_kernel_size"])
        size = budgeted((height, width), patch, pool, int(chosen["max_soft_tokens"]))
        count = (size[0] // patch) * (size[1] // patch) // pool**2
        tokens = [self.begin, *[self.image] * count, self.end]

        def fields() -> Fields:
            return _fields(media, size, chosen)

        return Plan(tokens, {}, fields, [token == self.image for token in tokens])


def budgeted(size: Size, patch: int, pool: int, tokens: int) -> Size:
    """The largest size of the image's shape whose sides are whole pools and whose patches are within the budget.

    Raises:
        BadRequest: the image is so small or so narrow that there is none.
    """
    height, width = size
    step = pool * patch
    pixels = tokens * pool**2 * patch**2
    scale = math.sqrt(pixels / (height * width))
    rows, columns = math.floor(scale * height / step), math.floor(scale * width / step)
    if not rows and not columns:
        raise BadRequest("Attempting to resize to a 0 x 0 image.")
    if not rows:
        rows, columns = 1, min(math.floor(width / height), tokens)
    elif not columns:
        rows, columns = min(math.floor(height / width), tokens), 1
    if rows * columns * step**2 > pixels:
        raise BadRequest("The image does not fit into its budget of patches.")
    return rows * step, columns * step


def _fields(picture: Picture, size: Size, chosen: Options) -> Fields:
    """pixel_values (budget, 3 · patch²) with zeros, positions (budget, 2) with −1 behind the image."""
    import numpy as np

    from renderlayer.multimodal.pixels import stills
    from renderlayer.multimodal.pixels.arrays import tensor

    recipe = stills.Recipe.of(chosen)
    planes = stills.scaled(stills.raster(picture), size, recipe)
    bits = stills.lookup(planes, stills.tables(recipe, 3))
    patch = int(chosen["patch_size"])
    rows, columns = size[0] // patch, size[1] // patch
    budget = int(chosen["max_soft_tokens"]) * int(chosen["pooling_kernel_size"]) ** 2
    pixels = np.zeros((budget, patch * patch * 3), np.uint16)
    cut = bits.reshape(3, rows, patch, columns, patch).transpose(1, 3, 2, 4, 0)
    pixels[: rows * columns] = cut.reshape(rows * columns, -1)
    positions = np.full((budget, 2), -1, np.int64)
    positions[: rows * columns, 0] = np.tile(np.arange(columns), rows)
    positions[: rows * columns, 1] = np.repeat(np.arange(rows), columns)
    return {
        "pixel_values": Field(tensor("bfloat16", pixels), "batched"),
        "pixel_position_ids": Field(tensor("int64", positions), "batched"),
    }
