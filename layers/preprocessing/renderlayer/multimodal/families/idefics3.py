"""Idefics3 and SmolVLM: tiles with their row and column in the prompt, and the whole image after them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from renderlayer.multimodal.families.base import Facts, Options, Plain, Plan, options
from renderlayer.multimodal.families.defaults import COMMON, HALF, LANCZOS
from renderlayer.multimodal.families.sizes import Size, check_tiles
from renderlayer.multimodal.image.picture import Picture
from renderlayer.multimodal.tensor import Field, Fields, int64

_DEFAULTS = {
    **COMMON,
    "size": {"longest_edge": 4 * 364},
    "max_image_size": {"longest_edge": 364},
    "do_image_splitting": True,
    "resample": LANCZOS,
    "image_mean": HALF,
    "image_std": HALF,
}
_LONGEST = 4096


class Idefics3(Plain):
    """Idefics3, SmolVLM and SmolVLM2, for images."""

    modalities = ("image",)

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.image = facts.token("<image>", "image_token_id")
        self.length = int(facts.processor.get("image_seq_len", 169))
        encode = facts.lexicon.encode
        self.fake, self.whole = encode("<fake_token_around_image>"), encode("<global-img>")
        self.line, self.blank = encode("\n"), encode("\n\n")

    def placeholder(self, modality: str, ordinal: int) -> str:
        return "<image>"

    def target(self, modality: str) -> list[int]:
        return [self.image]

    def plan(self, modality: str, media: Picture, kwargs: Mapping[str, Any]) -> Plan:
        chosen = options({**_DEFAULTS, **self.facts.image}, kwargs, "images_kwargs")
        width, height = media.size
        tile = int(chosen["max_image_size"]["longest_edge"])
        first = (
            _longest_edge((height, width), int(chosen["size"]["longest_edge"]))
            if chosen["do_resize"]
            else (height, width)
        )
        spread = _whole_tiles(first, tile) if chosen["do_image_splitting"] else (tile, tile)
        rows, columns = spread[0] // tile, spread[1] // tile
        check_tiles(rows * columns)
        if rows * columns == 1:
            rows = columns = 0
        tokens = self._tokens(rows, columns)
        count = rows * columns + 1
        metadata = {"num_patches": Field(int64(count), "batched", keep_on_cpu=True)}

        def fields() -> Fields:
            return {**_fields(media, first, spread, tile, count, chosen), **metadata}

        return Plan(tokens, metadata, fields, [token == self.image for token in tokens])

    def _tokens(self, rows: int, columns: int) -> list[int]:
        square = [self.image] * self.length
        tokens: list[int] = []
        for row in range(rows):
            for column in range(columns):
                tokens += [*self.fake, *self.facts.lexicon.encode(f"<row_{row + 1}_col_{column + 1}>"), *square]
            tokens += self.line if row + 1 < rows else self.blank
        return [*tokens, *self.fake, *self.whole, *square, *self.fake]


def _longest_edge(size: Size, edge: int) -> Size:
    """The size with its longer side at `edge`, the other even, and none above 4096."""
    height, width = size
    ratio = width / height
    if width >= height:
        width, height = edge, int(edge / ratio)
        height += height % 2
    else:
        height, width = edge, int(edge * ratio)
        width += width % 2
    height, width = max(height, 1), max(width, 1)
    ratio = width / height
    if width >= height and width > _LONGEST:
        height, width = int(_LONGEST / ratio), _LONGEST
    elif height > width and height > _LONGEST:
        height, width = _LONGEST, int(_LONGEST * ratio)
    return max(height, 1), max(width, 1)


def _whole_tiles(size: Size, tile: int) -> Size:
    """The size, raised to whole tiles, the shape kept as far as that goes."""
    height, width = size
    ratio = width / height
    if width >= height:
        columns = math.ceil(width / tile)
        rows = math.ceil(int(columns * tile / ratio) / tile)
    else:
        rows = math.ceil(height / tile)
        columns = math.ceil(int(rows * tile * ratio) / tile)
    return rows * tile, columns * tile


def _fields(picture: Picture, first: Size, spread: Size, tile: int, count: int, chosen: Options) -> Fields:
    import numpy as np

    from renderlayer.multimodal.arrays import tensor
    from renderlayer.multimodal.image import processing

    recipe = processing.Recipe.of(chosen)
    image = processing.scaled(processing.raster(picture), first, recipe).transpose(1, 2, 0)
    planes = processing.scaled(np.ascontiguousarray(image), spread, recipe)
    parts = processing.tiles(planes, (tile, tile))
    if len(parts) > 1:
        whole = processing.scaled(np.ascontiguousarray(planes.transpose(1, 2, 0)), (tile, tile), recipe)
        parts = np.concatenate([parts, whole[None]])
    mask = np.ones((count, tile, tile), np.int64)
    return {
        "pixel_values": Field(processing.finished(parts, recipe), "flat"),
        "pixel_attention_mask": Field(tensor("int64", mask), "flat"),
    }
