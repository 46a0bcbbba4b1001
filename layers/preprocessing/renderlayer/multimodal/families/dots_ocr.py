"""dots.ocr: patches as in Qwen2-VL, normalised here."""

from __future__ import annotations

from renderlayer.multimodal.families.base import Facts
from renderlayer.multimodal.families.qwen_vl import QwenVL


class DotsOCR(QwenVL):
    """Images of dots.ocr."""

    normalised = True

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.image_pad = facts.token("<|imgpad|>", "image_token_id")

    def placeholder(self, modality: str, ordinal: int) -> str:
        return "<|img|><|imgpad|><|endofimg|>"
