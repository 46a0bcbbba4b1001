"""PaddleOCR-VL: single patches, normalised here; small images are raised to a square of patches first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from renderlayer.multimodal.families.base import Facts, Options, Plan, options
from renderlayer.multimodal.families.defaults import HALF
from renderlayer.multimodal.families.qwen_vl import QwenVL
from renderlayer.multimodal.families.sizes import Size, pixel_range, snapped
from renderlayer.multimodal.image.picture import Picture
from renderlayer.multimodal.tensor import Field, Fields, Tensor

_SIZE = {"shortest_edge": 384 * 384, "longest_edge": 1536 * 1536}
_DEFAULTS = {"temporal_patch_size": 1, "image_mean": HALF, "image_std": HALF}


class PaddleOCRVL(QwenVL):
    """Images of PaddleOCR-VL."""

    grouped = False
    normalised = True

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.image_pad = facts.token("<|IMAGE_PLACEHOLDER|>", "image_token_id")

    def placeholder(self, modality: str, ordinal: int) -> str:
        return "<|IMAGE_START|><|IMAGE_PLACEHOLDER|><|IMAGE_END|>"

    def plan(self, modality: str, media: Any, kwargs: Mapping[str, Any]) -> Plan:
        return self.plan_image(media, options({**_DEFAULTS, **self.facts.image}, kwargs, "images_kwargs"))

    def plan_image(self, picture: Picture, chosen: Options) -> Plan:
        plan = super().plan_image(picture, chosen)
        patch = int(chosen.get("patch_size", 14))

        def fields() -> Fields:
            values = plan.fields()
            rows = values["pixel_values"].value
            square = Tensor(rows.dtype, (rows.shape[0], 3, patch, patch), rows.data)
            return {**values, "pixel_values": Field(square, "flat")}

        return Plan(plan.replacement, plan.metadata, fields)

    def snap(self, size: Size, factor: int, chosen: Options) -> Size:
        height, width = size
        if height < factor:
            height, width = factor, round(width * factor / height)
        if width < factor:
            height, width = round(height * factor / width), factor
        return snapped((height, width), factor, *pixel_range(chosen, _SIZE))
