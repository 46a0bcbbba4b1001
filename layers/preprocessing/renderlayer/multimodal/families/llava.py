"""LLaVA: one square of a CLIP or SigLIP tower an image."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from renderlayer.multimodal.families.base import Facts, Plain, Plan, options
from renderlayer.multimodal.families.defaults import COMMON, HALF
from renderlayer.multimodal.families.sizes import Size, processable, square, target
from renderlayer.multimodal.image.picture import Picture
from renderlayer.multimodal.tensor import Field, Fields

_CLIP = {**COMMON, "size": {"shortest_edge": 224}, "do_center_crop": True, "crop_size": {"height": 224, "width": 224}}
_SIGLIP = {**COMMON, "size": {"height": 224, "width": 224}, "image_mean": HALF, "image_std": HALF}


class Llava(Plain):
    """LLaVA 1.5 and its likes."""

    modalities: tuple[str, ...] = ("image",)

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.image = facts.token("<image>", "image_token_index", "image_token_id")
        self.embeds_token = self.image
        self.tower = facts.config.get("vision_config", {})
        siglip = "siglip" in self.tower.get("model_type", "")
        self.defaults = _SIGLIP if siglip else _CLIP
        self.edge = int(self.tower.get("image_size", 336)) // int(self.tower.get("patch_size", 14))
        # CLIP's class token is a feature too, unless the selection drops it.
        first = self.facts.config.get("vision_feature_select_strategy", "default") == "default"
        self.tokens = self.edge**2 + (0 if siglip else 1) - (1 if first else 0)

    def placeholder(self, modality: str, ordinal: int) -> str:
        return "<image>"

    def target(self, modality: str) -> list[int]:
        return [self.image]

    def plan(self, modality: str, media: Picture, kwargs: Mapping[str, Any]) -> Plan:
        chosen = options({**self.defaults, **self.facts.image}, kwargs, "images_kwargs")
        width, height = media.size
        whole = processable((max(media.size),) * 2 if chosen["do_pad"] else (height, width))
        size = processable(target(whole, chosen["size"])) if chosen["do_resize"] else whole

        def fields() -> Fields:
            return {"pixel_values": Field(_pixels(media, size, chosen), "batched")}

        return Plan([self.image] * self.tokens, {}, fields)


def _pixels(picture: Picture, size: Size, chosen: Mapping[str, Any]) -> Any:
    """bfloat16 of shape (3, height, width)."""
    from renderlayer.multimodal.image import processing

    recipe = processing.Recipe.of(chosen)
    image = processing.raster(picture)
    if chosen["do_pad"]:
        image = _squared(image, [int(mean * 255) for mean in chosen["image_mean"]])
    planes = processing.scaled(image, size, recipe)
    if chosen["do_center_crop"]:
        planes = processing.centred(planes, square(chosen["crop_size"]))
    return processing.finished(planes, recipe)


def _squared(image: Any, background: list[int]) -> Any:
    """The image in the middle of a square."""
    import numpy as np

    height, width = image.shape[:2]
    edge = max(height, width)
    top, left = (edge - height) // 2, (edge - width) // 2
    canvas = np.empty((edge, edge, 3), np.uint8)
    canvas[:] = background
    canvas[top : top + height, left : left + width] = image
    return canvas
