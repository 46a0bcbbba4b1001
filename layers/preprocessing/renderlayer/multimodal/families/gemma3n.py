"""Gemma 3n: an image is one square of 256 tokens between blank lines; sound is not rendered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from renderlayer.multimodal.families.base import Facts, Plan, options
from renderlayer.multimodal.families.defaults import BILINEAR, COMMON, HALF
from renderlayer.multimodal.families.gemma3 import Gemma3
from renderlayer.multimodal.families.sizes import square
from renderlayer.multimodal.image.picture import Picture
from renderlayer.multimodal.tensor import Field, Fields

_DEFAULTS = {
    **COMMON,
    "size": {"height": 768, "width": 768},
    "image_mean": HALF,
    "image_std": HALF,
    "resample": BILINEAR,
    "do_normalize": False,
}


class Gemma3n(Gemma3):
    """Images of Gemma 3n."""

    def __init__(self, facts: Facts) -> None:
        super().__init__(facts)
        self.embeds_token = None

    def placeholder(self, modality: str, ordinal: int) -> str:
        return "<image_soft_token>"

    def target(self, modality: str) -> list[int]:
        return [self._soft]

    def plan(self, modality: str, media: Picture, kwargs: Mapping[str, Any]) -> Plan:
        chosen = options({**_DEFAULTS, **self.facts.image}, kwargs, "images_kwargs")

        def fields() -> Fields:
            from renderlayer.multimodal.image import processing

            recipe = processing.Recipe.of(chosen)
            planes = processing.scaled(processing.raster(media), square(chosen["size"]), recipe)
            return {"pixel_values": Field(processing.finished(planes, recipe), "batched")}

        return Plan(self._square, {}, fields, [token == self._soft for token in self._square])
