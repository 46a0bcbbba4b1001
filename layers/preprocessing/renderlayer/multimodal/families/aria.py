"""Aria: the image at its own shape on a square canvas, with a mask of what it covers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from renderlayer.errors import BadRequest
from renderlayer.multimodal.families.base import Facts, Options, Plain, Plan, options
from renderlayer.multimodal.families.defaults import COMMON, HALF
from renderlayer.multimodal.families.sizes import Size
from renderlayer.multimodal.image.picture import Picture
from renderlayer.multimodal.tensor import Field, Fields

_EDGES = (490, 980)
_DEFAULTS = {
    **COMMON,
    "image_mean": HALF,
    "image_std": HALF,
    "max_image_size": _EDGES[1],
    "min_image_size": 336,
    "split_image": False,
}
_QUERIES = {"1225": 128, "4900": 256}  # patches of the tower → tokens of an image


class Aria(Plain):
    """Images of Aria."""

    modalities = ("image",)

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.image = facts.token("<|img|>", "image_token_index", "image_token_id")
        self.length = max(map(int, (facts.config.get("projector_patch_to_query_dict") or _QUERIES).values()))

    def placeholder(self, modality: str, ordinal: int) -> str:
        return "<|fim_prefix|><|img|><|fim_suffix|>"

    def target(self, modality: str) -> list[int]:
        return [self.image]

    def plan(self, modality: str, media: Picture, kwargs: Mapping[str, Any]) -> Plan:
        chosen = options({**_DEFAULTS, **self.facts.image}, kwargs, "images_kwargs")
        if chosen["max_image_size"] not in _EDGES:
            raise BadRequest(f"max_image_size must be one of {_EDGES}.", "mm_processor_kwargs")
        if chosen["split_image"]:
            raise BadRequest("split_image makes several images of one, which the engine does not take together.")
        return Plan([self.image] * self.length, {}, lambda: _fields(media, chosen))


def _fields(picture: Picture, chosen: Options) -> Fields:
    """pixel_values (3, edge, edge), pixel_mask (edge, edge)."""
    import numpy as np

    from renderlayer.multimodal.arrays import tensor
    from renderlayer.multimodal.image import processing

    recipe, edge = processing.Recipe.of(chosen), int(chosen["max_image_size"])
    size = _within(picture.size, edge, int(chosen["min_image_size"]))
    planes = processing.padded(processing.scaled(processing.raster(picture), size, recipe), (0, 0), (edge, edge))
    mask = np.zeros((edge, edge), np.bool_)
    mask[: size[0], : size[1]] = True
    return {
        "pixel_values": Field(processing.finished(planes, recipe), "batched"),
        "pixel_mask": Field(tensor("bool", mask), "batched"),
    }


def _within(size: tuple[int, int], edge: int, least: int) -> Size:
    """(height, width) whose longer side is `edge` and whose shorter one at least `least`, of a (width, height)."""
    width, height = size
    scale = edge / max(size)
    if width >= height:
        return max(int(height * scale), least), edge
    return edge, max(int(width * scale), least)
