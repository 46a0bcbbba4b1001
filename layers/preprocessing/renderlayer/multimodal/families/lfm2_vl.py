"""LFM2-VL: patches in rows of one length; large images as tiles with their places written out, and a thumbnail."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from renderlayer.multimodal.families.base import Facts, Options, Plain, Plan, options
from renderlayer.multimodal.families.defaults import BILINEAR, COMMON, HALF
from renderlayer.multimodal.families.internvl import nearest
from renderlayer.multimodal.families.sizes import Size, check_tiles, processable, tile_grids
from renderlayer.multimodal.image.picture import Picture
from renderlayer.multimodal.tensor import Field, Fields, Tensor, int64

_DEFAULTS = {
    **COMMON,
    "resample": BILINEAR,
    "image_mean": HALF,
    "image_std": HALF,
    "do_image_splitting": True,
    "downsample_factor": 2,
    "encoder_patch_size": 16,
    "min_image_tokens": 64,
    "max_image_tokens": 256,
    "max_pixels_tolerance": 2.0,
    "min_tiles": 2,
    "max_tiles": 10,
    "tile_size": 512,
}


class Lfm2VL(Plain):
    """Images of LFM2-VL."""

    modalities = ("image",)

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.image = facts.token("<image>", "image_token_id")
        self.begin, self.end = facts.token("<|image_start|>"), facts.token("<|image_end|>")

    def placeholder(self, modality: str, ordinal: int) -> str:
        return "<image>"

    def target(self, modality: str) -> list[int]:
        return [self.image]

    def plan(self, modality: str, media: Picture, kwargs: Mapping[str, Any]) -> Plan:
        chosen = options({**_DEFAULTS, **self.facts.image}, kwargs, "images_kwargs")
        patch, factor = int(chosen["encoder_patch_size"]), int(chosen["downsample_factor"])
        width, height = media.size
        whole = processable(snapped((height, width), chosen))
        rows, columns = tiling((height, width), chosen)
        side = int(chosen["tile_size"]) // patch
        shapes = [(side, side)] * (rows * columns if rows * columns > 1 else 0)
        shapes.append((whole[0] // patch, whole[1] // patch))
        metadata = {
            "num_patches": Field(int64(len(shapes)), "batched", keep_on_cpu=True),
            "spatial_shapes": Field(_pairs(shapes), "flat", keep_on_cpu=True),
        }

        def fields() -> Fields:
            return {**metadata, "pixel_values": Field(_rows(media, (rows, columns), whole, chosen), "flat")}

        tokens = [self.begin, *self._tiles(rows, columns, math.ceil(side / factor) ** 2)]
        tokens += [self.image] * ((whole[0] // (patch * factor)) * (whole[1] // (patch * factor)))
        tokens.append(self.end)
        return Plan(tokens, metadata, fields, [token == self.image for token in tokens])

    def _tiles(self, rows: int, columns: int, length: int) -> list[int]:
        """The tokens before those of the whole image."""
        if rows * columns == 1:
            return []
        encode = self.facts.lexicon.encode
        tokens: list[int] = []
        for row in range(1, rows + 1):
            for column in range(1, columns + 1):
                tokens += [*encode(f"<|img_row_{row}_col_{column}|>"), *[self.image] * length]
        return tokens + encode("<|img_thumbnail|>")


def snapped(size: Size, chosen: Options) -> Size:
    """The size of the whole image: in multiples of a token's square, with as many tokens as are allowed."""
    height, width = size
    step = int(chosen["encoder_patch_size"]) * int(chosen["downsample_factor"])
    least, most = (chosen[key] * step**2 for key in ("min_image_tokens", "max_image_tokens"))
    rows, columns = (max(step, round(side / step) * step) for side in size)
    if rows * columns > most:
        shrink = math.sqrt(height * width / most)
        return tuple(max(step, math.floor(side / shrink / step) * step) for side in size)  # type: ignore[return-value]
    if rows * columns < least:
        grow = math.sqrt(least / (height * width))
        return tuple(math.ceil(side * grow / step) * step for side in size)  # type: ignore[return-value]
    return rows, columns


def tiling(size: Size, chosen: Options) -> Size:
    """Rows and columns of tiles; (1, 1) for an image that is small enough."""
    patch, factor = int(chosen["encoder_patch_size"]), int(chosen["downsample_factor"])
    step, (least, most) = patch * factor, (int(chosen["min_tiles"]), check_tiles(int(chosen["max_tiles"])))
    rows, columns = (max(patch, round(side / step) * step) for side in size)
    large = rows * columns > chosen["max_image_tokens"] * step**2 * chosen["max_pixels_tolerance"]
    if not large or least == most == 1:
        return 1, 1
    return nearest(size, int(chosen["tile_size"]) ** 2, tile_grids(least, most))


def _pairs(shapes: list[Size]) -> Tensor:
    flat = int64([side for shape in shapes for side in shape])
    return Tensor("int64", (len(shapes), 2), flat.data)


def _rows(picture: Picture, grid: Size, whole: Size, chosen: Options) -> Tensor:
    """bfloat16 of shape (images, longest, patch² · 3): patches in rows, zeros behind the last."""
    import numpy as np

    from renderlayer.multimodal.arrays import tensor
    from renderlayer.multimodal.image import processing

    recipe, image = processing.Recipe.of(chosen), processing.raster(picture)
    patch, tile = int(chosen["encoder_patch_size"]), int(chosen["tile_size"])
    longest = int(chosen["max_image_tokens"]) * int(chosen["downsample_factor"]) ** 2
    if chosen["do_image_splitting"]:
        longest = max(longest, (tile // patch) ** 2)
    parts = []
    if grid != (1, 1):
        parts += list(
            processing.tiles(processing.scaled(image, (tile * grid[0], tile * grid[1]), recipe), (tile, tile))
        )
    parts.append(processing.scaled(image, whole, recipe))
    out = np.zeros((len(parts), longest, patch * patch * 3), np.uint16)
    table = processing.tables(recipe, 3)
    for index, planes in enumerate(parts):
        bits = processing.lookup(planes, table)
        down, across = bits.shape[1] // patch, bits.shape[2] // patch
        cut = bits.reshape(3, down, patch, across, patch).transpose(1, 3, 2, 4, 0)
        out[index, : down * across] = cut.reshape(down * across, -1)
    return tensor("bfloat16", out)
