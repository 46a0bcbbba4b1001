"""DeepSeek-OCR: the padded whole at one size and, of larger images, tiles at another; resized by Pillow."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from renderlayer.multimodal.families.base import Facts, Plain, Plan
from renderlayer.multimodal.families.defaults import HALF
from renderlayer.multimodal.families.internvl import nearest
from renderlayer.multimodal.families.sizes import Size, processable, tile_grids
from renderlayer.multimodal.picture import Picture
from renderlayer.multimodal.tensor import Field, Fields, Tensor, int64

_WHOLE, _TILE = 1024, 640  # edges in pixels
_FEWEST, _MOST = 2, 6  # tiles
_PATCH, _DOWNSAMPLE = 16, 4


class DeepseekOCR(Plain):
    """Images of DeepSeek-OCR, at the resolution that is called Gundam."""

    modalities = ("image",)

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.image = facts.token("<image>")
        self.embeds_token = self.image
        given = {**facts.processor, **facts.image}
        self.mean, self.std = given.get("image_mean", HALF), given.get("image_std", HALF)

    def placeholder(self, modality: str, ordinal: int) -> str:
        return "<image>"

    def target(self, modality: str) -> list[int]:
        return [self.image]

    def plan(self, modality: str, media: Picture, kwargs: Mapping[str, Any]) -> Plan:
        width, height = media.size
        processable((round(_WHOLE * min(1, height / width)), round(_WHOLE * min(1, width / height))))
        rows, columns = (1, 1)
        if max(width, height) > _TILE:
            rows, columns = nearest((height, width), _TILE**2, tile_grids(_FEWEST, _MOST))
        whole, tile = (math.ceil(edge // _PATCH / _DOWNSAMPLE) for edge in (_WHOLE, _TILE))
        # A separator a row of features in both views, and one between them.
        count = whole * (whole + 1) + 1
        if rows * columns > 1:
            count += rows * tile * (columns * tile + 1)
        crop = Field(int64([columns, rows]), "batched", keep_on_cpu=True)

        def fields() -> Fields:
            padded, tiles = self._views(media, (rows, columns))
            return {
                "images_crop": Field(tiles, "flat"),
                "pixel_values": Field(padded, "batched"),
                "images_spatial_crop": crop,
            }

        return Plan([self.image] * count, {"images_spatial_crop": crop}, fields)

    def _views(self, picture: Picture, shape: Size) -> tuple[Tensor, Tensor]:
        """bfloat16 of shape (3, whole, whole), and (tiles, 3, tile, tile)."""
        from PIL import ImageOps

        from renderlayer.multimodal.pixels import stills

        recipe = stills.Recipe("bicubic", 1 / 255, tuple(self.mean), tuple(self.std), fused=False)
        image = picture.rgb()
        background = tuple(int(mean * 255) for mean in self.mean)
        whole = stills.planes(ImageOps.pad(image, (_WHOLE, _WHOLE), color=background))
        if shape == (1, 1):
            return stills.finished(whole, recipe), Tensor("bfloat16", (0, 3, _TILE, _TILE), b"")
        spread = stills.planes(image.resize((_TILE * shape[1], _TILE * shape[0])))
        return stills.finished(whole, recipe), stills.finished(stills.tiles(spread, (_TILE, _TILE)), recipe)
