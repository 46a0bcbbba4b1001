"""LLaVA-OneVision: tiles as in LLaVA-NeXT on a SigLIP tower, thinned out when there are too many."""

from __future__ import annotations

import math

from renderlayer.multimodal.families.base import Facts
from renderlayer.multimodal.families.defaults import CLIP_MEAN, CLIP_STD
from renderlayer.multimodal.families.llava_next import LlavaNext, unpadded
from renderlayer.multimodal.families.sizes import Size

_STEPS = (384, 768, 1152, 1536, 1920, 2304)


class LlavaOnevision(LlavaNext):
    """Images of LLaVA-OneVision."""

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

    def tile_tokens(self, size: Size, canvas: Size) -> int:
        grid = (self.edge * (canvas[0] // self.tower_edge), self.edge * (canvas[1] // self.tower_edge))
        rows, columns = unpadded(size, grid)
        excess = math.sqrt(rows * columns / (self.most * self.edge**2))
        if excess > 1.1:
            rows, columns = int(rows // excess), int(columns // excess)
        return rows * columns + rows
