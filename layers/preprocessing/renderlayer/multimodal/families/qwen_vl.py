"""Images of the Qwen-VL line: any size, snapped to a grid of patches, sent as raw bytes (wire.md 4.5, 4.7)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from renderlayer.errors import BadRequest
from renderlayer.multimodal.families.base import Facts, Options, Plan, Unjoined, options
from renderlayer.multimodal.picture import Picture
from renderlayer.multimodal.tensor import Field, Fields, int64

_STEEPEST = 200
_SIZE = {"shortest_edge": 56 * 56, "longest_edge": 28 * 28 * 1280}
_BICUBIC = 3


class QwenVL(Unjoined):
    """Qwen2-VL and its successors, for images."""

    modalities = ("image", "video")
    exact = True

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self._pad = {
            "image": facts.token("<|image_pad|>", "image_token_id"),
            "video": facts.token("<|video_pad|>", "video_token_id"),
        }

    def placeholder(self, modality: str, ordinal: int) -> str:
        return f"<|vision_start|><|{modality}_pad|><|vision_end|>"

    def target(self, modality: str) -> list[int]:
        return [self._pad[modality]]

    def plan(self, modality: str, media: Any, kwargs: Mapping[str, Any]) -> Plan:
        return self._plan_image(media, options(self.facts.image, kwargs, "images_kwargs"))

    def _plan_image(self, picture: Picture, chosen: Options) -> Plan:
        patch, merge = int(chosen.get("patch_size", 14)), int(chosen.get("merge_size", 2))
        temporal = int(chosen.get("temporal_patch_size", 2))
        width, height = picture.size
        if chosen.get("do_resize", True):
            height, width = smart_resize(height, width, patch * merge, *pixel_range(chosen))
        grid = Field(int64([1, height // patch, width // patch]), "batched", keep_on_cpu=True)

        def fields() -> Fields:
            import numpy as np

            from renderlayer.multimodal.pixels.arrays import patch_rows, tensor
            from renderlayer.multimodal.pixels.resize import FILTERS, resize

            image = np.asarray(picture.decode().convert("RGB"))
            planes = resize(image, height, width, FILTERS[int(chosen.get("resample", _BICUBIC))])
            rows = patch_rows([planes], patch, merge, temporal)
            return {"pixel_values": Field(tensor("uint8", rows), "flat"), "image_grid_thw": grid}

        tokens = (height // patch) * (width // patch) // merge**2
        return Plan([self._pad["image"]] * tokens, {"image_grid_thw": grid}, fields)


def smart_resize(height: int, width: int, factor: int, least: int, most: int) -> tuple[int, int]:
    """The nearest (height, width) in multiples of `factor` with `least` to `most` pixels, the shape nearly kept.

    Raises:
        BadRequest: one side is more than 200 times the other.
    """
    ratio = max(height, width) / min(height, width)
    if ratio > _STEEPEST:
        raise BadRequest(f"absolute aspect ratio must be smaller than {_STEEPEST}, got {ratio}")
    new_height, new_width = round(height / factor) * factor, round(width / factor) * factor
    if new_height * new_width > most:
        shrink = math.sqrt(height * width / most)
        new_height = max(factor, math.floor(height / shrink / factor) * factor)
        new_width = max(factor, math.floor(width / shrink / factor) * factor)
    elif new_height * new_width < least:
        grow = math.sqrt(least / (height * width))
        new_height = math.ceil(height * grow / factor) * factor
        new_width = math.ceil(width * grow / factor) * factor
    return new_height, new_width


def pixel_range(chosen: Options) -> tuple[int, int]:
    """The least and the most pixels: from `size`, unless min_pixels and max_pixels are given.

    Raises:
        BadRequest: they are no positive numbers.
    """
    size = {**_SIZE, **(chosen.get("size") or {})}
    least, most = chosen.get("min_pixels") or size["shortest_edge"], chosen.get("max_pixels") or size["longest_edge"]
    if not all(isinstance(bound, (int, float)) and bound > 0 for bound in (least, most)):
        raise BadRequest("min_pixels and max_pixels must be positive numbers", "mm_processor_kwargs")
    return least, most
