"""GLM-4.1V, 4.5V and 4.6V: patches as in the Qwen-VL line, other bounds and tokens."""

from __future__ import annotations

from renderlayer.multimodal.families.base import Facts, Options
from renderlayer.multimodal.families.qwen_vl import QwenVL
from renderlayer.multimodal.families.sizes import Size, pixel_range, raised, snapped

_SIZE = {"shortest_edge": 112 * 112, "longest_edge": 28 * 28 * 15000}


class Glm4v(QwenVL):
    """Images of GLM's vision models."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.image_pad = facts.token("<|image|>", "image_token_id")

    def placeholder(self, modality: str, ordinal: int) -> str:
        return "<|begin_of_image|><|image|><|end_of_image|>"

    def snap(self, size: Size, factor: int, chosen: Options) -> Size:
        # An image counts as one group of frames, so that the bounds are for the group.
        temporal = int(chosen.get("temporal_patch_size", 2))
        return snapped(raised(size, factor), factor, *pixel_range(chosen, _SIZE), frames=temporal, temporal=temporal)
