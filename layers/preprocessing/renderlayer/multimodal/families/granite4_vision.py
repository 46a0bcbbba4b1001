"""Granite 4 Vision: images as in LLaVA-NeXT, of which a window transformer leaves a share of the features."""

from __future__ import annotations

from fractions import Fraction

from renderlayer.multimodal.families.base import Facts
from renderlayer.multimodal.families.llava_next import LlavaNext


class Granite4Vision(LlavaNext):
    """Images of Granite 4 Vision."""

    def __init__(self, facts: Facts) -> None:
        super().__init__(facts)
        self.embeds_token = None
        self.edge = int(self.edge * Fraction(str(facts.config.get("downsample_rate") or 1)))
        self.tokens = self.edge**2
