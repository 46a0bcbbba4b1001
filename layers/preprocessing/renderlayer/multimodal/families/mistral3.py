"""Mistral 3 and LLaVA with a Pixtral tower: the image at its own shape, a token a patch, a token a row."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from renderlayer.multimodal.families.base import Facts, Plain, Plan, options
from renderlayer.multimodal.families.defaults import COMMON
from renderlayer.multimodal.families.sizes import Size, processable
from renderlayer.multimodal.image.picture import Picture
from renderlayer.multimodal.tensor import Field, Fields

_DEFAULTS = {**COMMON, "size": {"longest_edge": 1024}}


class Mistral3(Plain):
    """Mistral Small 3.1 and its successors; bytes, which the engine normalises."""

    modalities = ("image",)
    raw = True

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.image = facts.token("[IMG]", "image_token_index", "image_token_id")
        self.row_end, self.end = self.ends(facts)
        tower = facts.config.get("vision_config", {})
        patch = facts.processor.get("patch_size") or tower.get("patch_size", 16)
        merge = facts.processor.get("spatial_merge_size") or facts.config.get("spatial_merge_size", 1)
        self.step = int(patch) * int(merge)

    def ends(self, facts: Facts) -> tuple[int, int]:
        """The tokens behind a row and behind the last one."""
        return facts.token("[IMG_BREAK]"), facts.token("[IMG_END]")

    def placeholder(self, modality: str, ordinal: int) -> str:
        return "[IMG]"

    def target(self, modality: str) -> list[int]:
        return [self.image]

    def plan(self, modality: str, media: Picture, kwargs: Mapping[str, Any]) -> Plan:
        chosen = options({**_DEFAULTS, **self.facts.image}, kwargs, "images_kwargs")
        width, height = media.size
        size = processable(aligned((height, width), chosen["size"], self.step))
        rows, columns = size[0] // self.step, size[1] // self.step
        tokens = ([self.image] * columns + [self.row_end]) * rows
        tokens[-1] = self.end

        def fields() -> Fields:
            from renderlayer.multimodal.arrays import tensor
            from renderlayer.multimodal.image import processing

            recipe = processing.Recipe.of(chosen)
            planes = processing.scaled(processing.raster(media), size, recipe)
            value = tensor("uint8", planes) if self.raw else processing.finished(planes, recipe)
            return {"pixel_values": Field(value, "batched")}

        return Plan(tokens, {}, fields, [token == self.image for token in tokens])


class LlavaPixtral(Mistral3):
    """LLaVA's architecture with a Pixtral tower; normalised here."""

    raw = False


def aligned(size: Size, most: Mapping[str, int], step: int) -> Size:
    """The size within the longest edge, each side rounded up to whole patches."""
    height, width = size
    edge = most.get("longest_edge")
    ratio = max(height / (edge or most["height"]), width / (edge or most["width"]))
    if ratio > 1:
        height, width = math.floor(height / ratio), math.floor(width / ratio)
    return ((height - 1) // step + 1) * step, ((width - 1) // step + 1) * step
