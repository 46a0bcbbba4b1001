"""Command A Vision: tiles on the canvas that enlarges the image least, a thumbnail, a token behind each tile."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from renderlayer.multimodal.families.base import Facts, Plain, Plan, options
from renderlayer.multimodal.families.defaults import COMMON
from renderlayer.multimodal.families.sizes import Size, check_tiles, square
from renderlayer.multimodal.image.picture import Picture
from renderlayer.multimodal.tensor import Field, Fields, int64

_DEFAULTS = {**COMMON, "size": {"height": 512, "width": 512}, "crop_to_patches": True, "max_patches": 12}


class Cohere2Vision(Plain):
    """Images of Cohere's vision models."""

    modalities = ("image",)

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.image = facts.token("<|IMG_PATCH|>", "image_token_id")
        self.begin, self.end = facts.token("<|START_OF_IMG|>"), facts.token("<|END_OF_IMG|>")
        self.line = facts.token("<|IMG_LINE_BREAK|>")
        self.length = int(facts.image.get("patch_size", 16)) ** 2

    def placeholder(self, modality: str, ordinal: int) -> str:
        return "<|IMG_PATCH|>"

    def target(self, modality: str) -> list[int]:
        return [self.image]

    def plan(self, modality: str, media: Picture, kwargs: Mapping[str, Any]) -> Plan:
        chosen = options({**_DEFAULTS, **self.facts.image}, kwargs, "images_kwargs")
        tile, (width, height) = square(chosen["size"]), media.size
        shape = (1, 1)
        if chosen["crop_to_patches"]:
            shape = canvas((height, width), tile[0], check_tiles(int(chosen["max_patches"])))
        count = shape[0] * shape[1] + (shape != (1, 1))
        metadata = {"num_patches": Field(int64(count), "batched", keep_on_cpu=True)}

        def fields() -> Fields:
            return {"pixel_values": Field(_pixels(media, shape, tile, chosen), "flat"), **metadata}

        tokens = [self.begin, *([self.image] * self.length + [self.line]) * count, self.end]
        return Plan(tokens, metadata, fields, [token == self.image for token in tokens])


def canvas(size: Size, edge: int, most: int) -> Size:
    """Rows and columns of tiles: the grid that enlarges least or, where all of them shrink the image, shrinks least."""
    height, width = size
    grids = sorted(
        ((across, down) for across in range(1, most + 1) for down in range(1, most + 1) if across * down <= most),
        key=lambda grid: grid[0] * grid[1],
    )
    scales = [min(across * edge / width, down * edge / height) for across, down in grids]
    enlarging = [scale for scale in scales if scale >= 1]
    best = scales.index(min(enlarging) if enlarging else max(scales))
    return grids[best][1], grids[best][0]


def _pixels(picture: Picture, shape: Size, tile: Size, chosen: Mapping[str, Any]) -> Any:
    """bfloat16 of shape (tiles, 3, height, width); the thumbnail comes last."""
    import numpy as np

    from renderlayer.multimodal.image import processing

    recipe, image = processing.Recipe.of(chosen), processing.raster(picture)
    spread = processing.scaled(image, (tile[0] * shape[0], tile[1] * shape[1]), recipe)
    parts = processing.tiles(spread, tile)
    if len(parts) > 1:
        parts = np.concatenate([parts, processing.scaled(image, tile, recipe)[None]])
    return processing.finished(parts, recipe)
