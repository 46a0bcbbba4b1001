"""DeepSeek-VL2: the padded whole, then tiles of the canvas that suits the image, unless the prompt has many images.

Its processor resizes with Pillow.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from renderlayer.multimodal.families.base import Facts, Plain, Plan
from renderlayer.multimodal.families.defaults import HALF
from renderlayer.multimodal.families.sizes import Size, best_canvas
from renderlayer.multimodal.image.picture import Picture
from renderlayer.multimodal.tensor import Field, Fields, int64

_FEW = 2  # images in a prompt up to which they are cut into tiles


class DeepseekVL2(Plain):
    """DeepSeek-VL2 in its three sizes."""

    modalities = ("image",)

    def __init__(self, facts: Facts, tiled: bool = True) -> None:
        self.facts = facts
        self.tiled = tiled
        self.image = facts.token("<image>")
        self.embeds_token = self.image
        given = {**facts.config, **facts.processor, **facts.image}
        patch, downsample = int(given.get("patch_size", 14)), int(given.get("downsample_ratio", 2))
        self.canvases = [(height, width) for width, height in given.get("candidate_resolutions", [[384, 384]])]
        self.edge = self.canvases[0][1]
        self.side = math.ceil((self.edge // patch) / downsample)
        self.mean, self.std = given.get("image_mean", HALF), given.get("image_std", HALF)

    def for_item_count(self, count: int) -> DeepseekVL2:
        return self if count <= _FEW else DeepseekVL2(self.facts, tiled=False)

    def hash_context(self, modality: str, kwargs: Mapping[str, Any]) -> dict[str, Any]:
        return {"cropping": self.tiled}

    def placeholder(self, modality: str, ordinal: int) -> str:
        return "<image>"

    def target(self, modality: str) -> list[int]:
        return [self.image]

    def plan(self, modality: str, media: Picture, kwargs: Mapping[str, Any]) -> Plan:
        width, height = media.size
        canvas = best_canvas((height, width), self.canvases) if self.tiled else (self.edge, self.edge)
        rows, columns = canvas[0] // self.edge, canvas[1] // self.edge
        # A separator a row of features in both views, and one between them.
        count = self.side * (self.side + 1) + 1 + rows * self.side * (columns * self.side + 1)
        crop = Field(int64([columns, rows]), "batched", keep_on_cpu=True)

        def fields() -> Fields:
            return {"pixel_values": Field(self._pixels(media, canvas), "flat"), "images_spatial_crop": crop}

        return Plan([self.image] * count, {"images_spatial_crop": crop}, fields)

    def _pixels(self, picture: Picture, canvas: Size) -> Any:
        """bfloat16 of shape (1 + tiles, 3, edge, edge)."""
        import numpy as np
        from PIL import ImageOps

        from renderlayer.multimodal.image import processing

        image = picture.rgb()
        background = tuple(int(mean * 255) for mean in self.mean)
        whole, spread = (
            processing.planes(ImageOps.pad(image, (width, height), color=background))
            for height, width in ((self.edge, self.edge), canvas)
        )
        parts = np.concatenate([whole[None], processing.tiles(spread, (self.edge, self.edge))])
        return processing.finished(
            parts, processing.Recipe("bicubic", 1 / 255, tuple(self.mean), tuple(self.std), fused=False)
        )
