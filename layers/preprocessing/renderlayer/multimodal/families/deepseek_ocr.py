"""DeepSeek-OCR: the padded whole at one size and, of larger images, tiles at another; resized by Pillow."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from renderlayer.multimodal.families.base import Facts, Plain, Plan
from renderlayer.multimodal.families.defaults import HALF
from renderlayer.multimodal.families.internvl import nearest
from renderlayer.multimodal.families.sizes import Size, processable, tile_grids
from renderlayer.multimodal.image.picture import Picture
from renderlayer.multimodal.tensor import Field, Fields, Tensor, int64

if TYPE_CHECKING:
    from PIL.Image import Image as PillowImage

_WHOLE = 1024  # edge in pixels
_FEWEST = 2  # tiles
_PATCH, _DOWNSAMPLE = 16, 4


class DeepseekOCR(Plain):
    """Images of DeepSeek-OCR, at the resolution that is called Gundam."""

    modalities = ("image",)
    tile = 640  # edge in pixels
    most = 6  # tiles
    separated = True  # whether a separator ends each row of features

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
        rows, columns = self.grid((height, width))
        whole, tile = (math.ceil(edge // _PATCH / _DOWNSAMPLE) for edge in (_WHOLE, self.tile))
        # And a separator between the views.
        count = whole * (whole + self.separated) + 1
        if rows * columns > 1:
            count += rows * tile * (columns * tile + self.separated)
        crop = Field(int64([columns, rows]), "batched", keep_on_cpu=True)

        def fields() -> Fields:
            padded, tiles = self._views(media, (rows, columns))
            return {
                "images_crop": Field(tiles, "flat"),
                "pixel_values": Field(padded, "batched"),
                "images_spatial_crop": crop,
            }

        return Plan([self.image] * count, {"images_spatial_crop": crop}, fields)

    def grid(self, size: Size) -> Size:
        """Rows and columns of tiles."""
        if max(size) <= self.tile:
            return 1, 1
        return nearest(size, self.tile**2, tile_grids(_FEWEST, self.most))

    def shown(self, picture: Picture) -> PillowImage:
        """The image that is padded as a whole."""
        return picture.rgb()

    def _views(self, picture: Picture, shape: Size) -> tuple[Tensor, Tensor]:
        """bfloat16 of shape (3, whole, whole), and (tiles, 3, tile, tile)."""
        from PIL import ImageOps

        from renderlayer.multimodal.image import processing

        recipe = processing.Recipe("bicubic", 1 / 255, tuple(self.mean), tuple(self.std), fused=False)
        background = tuple(int(mean * 255) for mean in self.mean)
        whole = processing.planes(ImageOps.pad(self.shown(picture), (_WHOLE, _WHOLE), color=background))
        if shape == (1, 1):
            return processing.finished(whole, recipe), Tensor("bfloat16", (0, 3, self.tile, self.tile), b"")
        spread = processing.planes(picture.rgb().resize((self.tile * shape[1], self.tile * shape[0])))
        tiles = processing.tiles(spread, (self.tile, self.tile))
        return processing.finished(whole, recipe), processing.finished(tiles, recipe)


class DeepseekOCR2(DeepseekOCR):
    """Images of DeepSeek-OCR 2: larger tiles, and rows without separators."""

    tile = 768
    separated = False


class UnlimitedOCR(DeepseekOCR):
    """Images of Unlimited-OCR: more tiles of a lone image, and none of several, which are squeezed into squares."""

    most = 32

    def __init__(self, facts: Facts, lone: bool = True) -> None:
        super().__init__(facts)
        self.lone = lone

    def for_item_count(self, count: int) -> UnlimitedOCR:
        return self if self.lone == (count == 1) else UnlimitedOCR(self.facts, count == 1)

    def hash_context(self, modality: str, kwargs: Mapping[str, Any]) -> dict[str, Any]:
        return {"cropping": self.lone}

    def grid(self, size: Size) -> Size:
        return super().grid(size) if self.lone else (1, 1)

    def shown(self, picture: Picture) -> PillowImage:
        image = picture.rgb()
        return image if self.lone else image.resize((self.tile, self.tile))
