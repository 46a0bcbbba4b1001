"""Gemma 3: every image becomes one square of 256 tokens, with crops beside it when asked for (wire.md 4.5)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from renderlayer.multimodal.families.base import Facts, Options, Plain, Plan, options
from renderlayer.multimodal.families.defaults import BILINEAR, COMMON, HALF
from renderlayer.multimodal.families.sizes import square
from renderlayer.multimodal.image.picture import Picture
from renderlayer.multimodal.tensor import Field, Fields, int64

_DEFAULTS = {
    **COMMON,
    "do_pan_and_scan": False,
    "pan_and_scan_min_crop_size": 256,
    "pan_and_scan_max_num_crops": 4,
    "pan_and_scan_min_ratio_to_activate": 1.2,
    "size": {"height": 224, "width": 224},
    "image_mean": HALF,
    "image_std": HALF,
    "resample": BILINEAR,
}
_NEWLINES = 4  # the vocabulary has tokens for runs of newlines; runs of up to four can arise

Box = tuple[int, int, int, int]  # left, top, right, bottom


class Gemma3(Plain):
    """Gemma 3 with its SigLIP tower."""

    modalities: tuple[str, ...] = ("image",)

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self._begin = facts.token("<start_of_image>", "boi_token_index", "boi_token_id")
        end = facts.token("<end_of_image>", "eoi_token_index", "eoi_token_id")
        self._soft = facts.token("<image_soft_token>", "image_token_index", "image_token_id")
        runs = [facts.lexicon.encode("\n" * count) for count in range(1, _NEWLINES + 1)]
        self._newlines = {run[0]: count for count, run in enumerate(runs, 1) if len(run) == 1}
        length = facts.processor.get("image_seq_length") or facts.config.get("mm_tokens_per_image", 256)
        self._square = [*runs[1], self._begin, *[self._soft] * int(length), end, *runs[1]]

    def placeholder(self, modality: str, ordinal: int) -> str:
        return "<start_of_image>"

    def target(self, modality: str) -> list[int]:
        return [self._begin]

    def plan(self, modality: str, media: Picture, kwargs: Mapping[str, Any]) -> Plan:
        given = {key: value for key, value in self.facts.image.items() if value is not None}
        chosen = options({**_DEFAULTS, **given}, kwargs, "images_kwargs")
        boxes = crops(*media.size, chosen) if chosen["do_pan_and_scan"] else []
        count = Field(int64(1 + len(boxes)), "batched", keep_on_cpu=True)
        tokens = self._tokens(len(boxes))

        def fields() -> Fields:
            return {"num_patches": count, "pixel_values": Field(_squares(media, boxes, chosen), "flat")}

        return Plan(tokens, {"num_patches": count}, fields, [token == self._soft for token in tokens])

    def join(self, left: int, right: int) -> int | None:
        """Neighbouring runs of newlines are one token, as the tokenizer would have it."""
        both = self._newlines.get(left, _NEWLINES) + self._newlines.get(right, _NEWLINES)
        return next((token for token, count in self._newlines.items() if count == both), None)

    def _tokens(self, crop_count: int) -> list[int]:
        if not crop_count:
            return self._square
        encode = self.facts.lexicon.encode
        tokens = [*encode("Here is the original image "), *self._square]
        tokens += [*encode(" and here are some crops to help you see better "), *self._square]
        for _ in range(crop_count - 1):
            tokens += [*encode(" "), *self._square]
        return tokens


def crops(width: int, height: int, chosen: Options) -> list[Box]:
    """The parts that pan and scan looks at beside the whole image; none for images that are nearly square."""
    long, short = max(width, height), min(width, height)
    smallest = chosen["pan_and_scan_min_crop_size"]
    if long / short < chosen["pan_and_scan_min_ratio_to_activate"]:
        return []
    count = min(math.floor(long / smallest), math.floor(long / short + 0.5))
    count = min(chosen["pan_and_scan_max_num_crops"], max(2, count))
    across, down = (count, 1) if width >= height else (1, count)
    crop_width, crop_height = math.ceil(width / across), math.ceil(height / down)
    if min(crop_width, crop_height) < smallest:
        return []
    return [
        (x * crop_width, y * crop_height, min((x + 1) * crop_width, width), min((y + 1) * crop_height, height))
        for y in range(down)
        for x in range(across)
    ]


def _squares(picture: Picture, boxes: list[Box], chosen: Options) -> Any:
    """bfloat16 of shape (1 + crops, 3, height, width)."""
    import numpy as np

    from renderlayer.multimodal.image import processing

    recipe = processing.Recipe.of(chosen)
    image = processing.raster(picture)
    parts = [image, *(image[top:bottom, left:right] for left, top, right, bottom in boxes)]
    return processing.finished(
        np.stack([processing.scaled(part, square(chosen["size"]), recipe) for part in parts]), recipe
    )
