"""EXAONE 4.5: images and videos as in Qwen2-VL, between marks of its own."""

from __future__ import annotations

from renderlayer.multimodal.families.qwen_video import Qwen2VL


class Exaone45(Qwen2VL):
    """Images and videos of EXAONE 4.5."""

    def placeholder(self, modality: str, ordinal: int) -> str:
        return f"<vision><|{modality}_pad|></vision>"
