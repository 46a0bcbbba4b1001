"""LLaVA-NeXT-Video: a square a frame, its features pooled."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from renderlayer.multimodal.families.base import Facts, Plain, Plan, options
from renderlayer.multimodal.families.frames import frame_stack
from renderlayer.multimodal.tensor import Field

if TYPE_CHECKING:
    from renderlayer.multimodal.video.clip import Clip

_DEFAULTS = {"size": {"shortest_edge": 224}, "do_center_crop": True, "crop_size": {"height": 224, "width": 224}}


class LlavaNextVideo(Plain):
    """One video a prompt; the reference takes no images for it."""

    modalities = ("video",)
    item_limits: Mapping[str, int] = {"video": 1}

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.video = facts.token("<video>", "video_token_index", "video_token_id")
        tower = facts.config.get("vision_config", {})
        edge = int(tower.get("image_size", 336)) // int(tower.get("patch_size", 14))
        self.length = math.ceil(edge / int(facts.config.get("spatial_pool_stride", 2))) ** 2

    def placeholder(self, modality: str, ordinal: int) -> str:
        return "<video>"

    def target(self, modality: str) -> list[int]:
        return [self.video]

    def plan(self, modality: str, media: Clip, kwargs: Mapping[str, Any]) -> Plan:
        chosen = options({**_DEFAULTS, **self.facts.video}, kwargs, "videos_kwargs")
        tokens = [self.video] * (self.length * len(media.indices))
        return Plan(tokens, {}, lambda: {"pixel_values_videos": Field(frame_stack(media, chosen), "batched")})
