"""LLaVA-OneVision: tiles as in LLaVA-NeXT on a SigLIP tower, thinned out when there are too many."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from renderlayer.multimodal.families.base import Facts, Plan, options
from renderlayer.multimodal.families.defaults import CLIP_MEAN, CLIP_STD
from renderlayer.multimodal.families.frames import frame_stack
from renderlayer.multimodal.families.llava_next import LlavaNext, unpadded
from renderlayer.multimodal.families.sizes import Size
from renderlayer.multimodal.tensor import Field

_VIDEO = {"size": {"height": 384, "width": 384}, "do_center_crop": False}
_STEPS = (384, 768, 1152, 1536, 1920, 2304)


class LlavaOnevision(LlavaNext):
    """Images and videos of LLaVA-OneVision."""

    modalities = ("image", "video")

    def __init__(self, facts: Facts) -> None:
        super().__init__(facts)
        self.defaults = {
            **self.defaults,
            "size": {"height": 384, "width": 384},
            "do_center_crop": False,
            "image_mean": CLIP_MEAN,
            "image_std": CLIP_STD,
        }
        self.pinpoints = facts.config.get("image_grid_pinpoints") or [[x, y] for x in _STEPS for y in _STEPS]
        aspect = str(facts.config.get("vision_aspect_ratio", "anyres_max_9"))
        self.most = int(aspect.removeprefix("anyres_max_"))

        self.video = facts.token("<video>", "video_token_index", "video_token_id")
        self.frame_tokens = math.ceil(self.edge / int(facts.config.get("spatial_pool_stride", 2))) ** 2

    def placeholder(self, modality: str, ordinal: int) -> str:
        return "<video>" if modality == "video" else super().placeholder(modality, ordinal)

    def target(self, modality: str) -> list[int]:
        return [self.video] if modality == "video" else super().target(modality)

    def plan(self, modality: str, media: Any, kwargs: Mapping[str, Any]) -> Plan:
        """A video is a square a frame, pooled, and a token for its end."""
        if modality == "image":
            return super().plan(modality, media, kwargs)
        chosen = options({**_VIDEO, **self.facts.video}, kwargs, "videos_kwargs")
        tokens = [self.video] * (self.frame_tokens * len(media.indices) + 1)
        return Plan(tokens, {}, lambda: {"pixel_values_videos": Field(frame_stack(media, chosen), "batched")})

    def tile_tokens(self, size: Size, canvas: Size) -> int:
        grid = (self.edge * (canvas[0] // self.tower_edge), self.edge * (canvas[1] // self.tower_edge))
        rows, columns = unpadded(size, grid)
        excess = math.sqrt(rows * columns / (self.most * self.edge**2))
        if excess > 1.1:
            rows, columns = int(rows // excess), int(columns // excess)
        return rows * columns + rows
