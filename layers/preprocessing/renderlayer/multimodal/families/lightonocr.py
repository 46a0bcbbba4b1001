"""LightOnOCR: a Pixtral tower without tokens for the ends of rows and images; normalised here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from renderlayer.multimodal.families.base import Facts, Plan
from renderlayer.multimodal.families.mistral3 import Mistral3, aligned
from renderlayer.multimodal.image.picture import Picture


class LightOnOCR(Mistral3):
    """Images of LightOnOCR."""

    raw = False

    def __init__(self, facts: Facts) -> None:
        super().__init__(facts)
        self.embeds_token = self.image
        self.longest = int(facts.config.get("vision_config", {}).get("image_size", 1540))

    def ends(self, facts: Facts) -> tuple[int, int]:
        """None are used."""
        return self.image, self.image

    def placeholder(self, modality: str, ordinal: int) -> str:
        return "<|image_pad|>"

    def plan(self, modality: str, media: Picture, kwargs: Mapping[str, Any]) -> Plan:
        """Tokens are counted from the tower's size, pixels made at the processor's: in the reference, too."""
        laid_out = super().plan(modality, media, kwargs)
        height, width = aligned((media.size[1], media.size[0]), {"longest_edge": self.longest}, self.step)
        count = (height // self.step) * (width // self.step)
        return Plan([self.image] * count, {}, laid_out.fields)
