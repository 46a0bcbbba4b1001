"""OpenCUA: images as in Qwen2-VL behind the placeholder of Kimi's tokenizer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from renderlayer.multimodal.families.base import Facts, Plan
from renderlayer.multimodal.families.qwen_vl import QwenVL


class OpenCUA(QwenVL):
    """Images of OpenCUA; no option of a request reaches its processor."""

    normalised = True

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.image_pad = facts.token("<|media_placeholder|>", "media_placeholder_token_id")

    def placeholder(self, modality: str, ordinal: int) -> str:
        return "<|media_placeholder|>"

    def plan(self, modality: str, media: Any, kwargs: Mapping[str, Any]) -> Plan:
        return self.plan_image(media, dict(self.facts.image))
