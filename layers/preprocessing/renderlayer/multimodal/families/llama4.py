"""Llama 4: tiles on the canvas that needs the least change, separators in the prompt, and the whole image last."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from renderlayer.multimodal.families.base import Facts, Options, Plain, Plan, options
from renderlayer.multimodal.families.defaults import BILINEAR, COMMON, HALF
from renderlayer.multimodal.families.sizes import Size, check_tiles
from renderlayer.multimodal.image.picture import Picture
from renderlayer.multimodal.tensor import Field, Fields, int64

_DEFAULTS = {
    **COMMON,
    "size": {"height": 336, "width": 336},
    "max_patches": 16,
    "resize_to_max_canvas": False,
    "resample": BILINEAR,
    "image_mean": HALF,
    "image_std": HALF,
}


class Llama4(Plain):
    """Llama 4 Scout and Maverick."""

    modalities = ("image",)

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.image = facts.token("<|image|>")
        self.patch = facts.token("<|patch|>", "image_token_index", "image_token_id")
        self.begin, self.end = facts.token("<|image_start|>"), facts.token("<|image_end|>")
        self.beside, self.below = facts.token("<|tile_x_separator|>"), facts.token("<|tile_y_separator|>")
        tower = facts.config.get("vision_config", {})
        self.patch_size = int(facts.processor.get("patch_size") or tower.get("patch_size", 14))
        self.downsample = round(1 / float(tower.get("pixel_shuffle_ratio", 0.5)) ** 2)

    def placeholder(self, modality: str, ordinal: int) -> str:
        return "<|image|>"

    def target(self, modality: str) -> list[int]:
        return [self.image]

    def plan(self, modality: str, media: Picture, kwargs: Mapping[str, Any]) -> Plan:
        chosen = options({**_DEFAULTS, **self.facts.image}, kwargs, "images_kwargs")
        width, height = media.size
        edge = int(chosen["size"]["height"])
        largest = bool(chosen["resize_to_max_canvas"])
        canvas = _canvas((height, width), edge, check_tiles(int(chosen["max_patches"])), largest)
        rows, columns = canvas[0] // edge, canvas[1] // edge
        count = rows * columns + (1 if rows * columns > 1 else 0)
        tokens = self._tokens(rows, columns, (edge // self.patch_size) ** 2 // self.downsample)
        metadata = {
            "patches_per_image": Field(int64(count), "batched", keep_on_cpu=True),
            "aspect_ratios": Field(int64([rows, columns]), "batched", keep_on_cpu=True),
        }

        def fields() -> Fields:
            return {"pixel_values": Field(_pixels(media, canvas, edge, largest, chosen), "flat"), **metadata}

        return Plan(tokens, metadata, fields, [token == self.patch for token in tokens])

    def _tokens(self, rows: int, columns: int, length: int) -> list[int]:
        tile = [self.patch] * length
        tokens = [self.begin]
        if rows * columns > 1:
            for _ in range(rows):
                for column in range(columns):
                    tokens += [*tile, self.beside] if column + 1 < columns else tile
                tokens.append(self.below)
        return [*tokens, self.image, *tile, self.end]


@lru_cache(maxsize=8)
def _canvases(edge: int, most: int) -> list[Size]:
    """Every canvas of up to `most` tiles, those of one shape together, larger ones first."""
    by_shape: dict[float, list[Size]] = {}
    for count in range(most, 0, -1):
        for rows in range(1, count + 1):
            if count % rows == 0:
                columns = count // rows
                by_shape.setdefault(rows / columns, []).append((rows * edge, columns * edge))
    return [canvas for canvases in by_shape.values() for canvas in canvases]


def _canvas(size: Size, edge: int, most: int, largest: bool) -> Size:
    """The canvas that enlarges the image least (most, if `largest`), else shrinks it least; the smallest of those."""
    height, width = size
    scales = {
        canvas: min(_float32(canvas[1] / width), _float32(canvas[0] / height)) for canvas in _canvases(edge, most)
    }
    enlarging = [scale for scale in scales.values() if scale >= 1]
    choose = min if enlarging and not largest else max
    wanted = choose(enlarging or scales.values())
    return min(
        (canvas for canvas, scale in scales.items() if scale == wanted), key=lambda canvas: canvas[0] * canvas[1]
    )


def _float32(value: float) -> float:
    """Rounded to single precision, in which the reference compares scales."""
    rounded: float = struct.unpack("f", struct.pack("f", value))[0]
    return rounded


def _within(size: Size, edge: int, canvas: Size, largest: bool) -> Size:
    """The size of the image's shape that goes onto a canvas, rounded down; never enlarged beyond a tile's edge.

    A side that the canvas limits is a tensor in the reference, which computes with it in single precision.
    """
    limits = [side if largest else min(max(own, edge), side) for own, side in zip(size, canvas, strict=True)]
    single = [largest or max(own, edge) > side for own, side in zip(size, canvas, strict=True)]
    scales = [
        _float32(limit / own) if narrow else limit / own
        for limit, own, narrow in zip(limits, size, single, strict=True)
    ]
    compared = [_float32(scale) for scale in scales] if any(single) else scales
    fixed = 1 if compared[1] < compared[0] else 0  # the side that reaches its limit: rows or columns
    other = 1 - fixed
    length = size[other] * scales[fixed]
    sides = [0, 0]
    sides[fixed] = limits[fixed]
    sides[other] = max(min(math.floor(_float32(length) if single[fixed] else length), limits[other]), 1)
    return sides[0], sides[1]


def _pixels(picture: Picture, canvas: Size, edge: int, largest: bool, chosen: Options) -> Any:
    """bfloat16 of shape (tiles, 3, edge, edge); the whole image comes last where there are several."""
    import numpy as np

    from renderlayer.multimodal.arrays import tensor
    from renderlayer.multimodal.image import processing

    recipe = processing.Recipe.of(chosen)
    image = processing.raster(picture)
    spread = processing.padded(
        processing.scaled(image, _within(image.shape[:2], edge, canvas, largest), recipe), (0, 0), canvas
    )
    parts = processing.tiles(spread, (edge, edge))
    if len(parts) > 1:
        parts = np.concatenate([parts, processing.scaled(image, (edge, edge), recipe)[None]])
    return tensor("bfloat16", processing.lookup(parts, processing.tables_in_bfloat16(recipe, 3)))
