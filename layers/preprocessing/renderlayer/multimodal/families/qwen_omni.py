"""Qwen2.5-Omni and Qwen3-Omni: images and videos as in Qwen2-VL, normalised here; sound is not rendered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from renderlayer.errors import BadRequest
from renderlayer.multimodal.clip import Clip
from renderlayer.multimodal.families.base import Facts, Options
from renderlayer.multimodal.families.qwen_video import Qwen2VL
from renderlayer.multimodal.tensor import Field, Fields, Tensor, bfloat16

_UNUSED = ("size", "min_pixels", "max_pixels", "fps")


class Qwen25Omni(Qwen2VL):
    """Qwen2.5-Omni's thinker."""

    normalised = True
    tokens: Mapping[str, tuple[str, str]] = {
        "image": ("<|IMAGE|>", "image_token_index"),
        "video": ("<|VIDEO|>", "video_token_index"),
    }
    marks = ("<|vision_bos|>", "<|vision_eos|>")
    square = 28  # pixels of an edge that become a token
    fps = 2.0  # frames a second that the processor takes for granted

    def __init__(self, facts: Facts) -> None:
        thinker = facts.config.get("thinker_config") or facts.config
        self.facts = replace(facts, config=thinker, video=self._video(facts))
        self.image_pad = self.facts.token(*self.tokens["image"])
        self.video_pad = self.facts.token(*self.tokens["video"])

    def _video(self, facts: Facts) -> Options:
        """The processor's bounds for videos are its own, whatever the configuration says of images."""
        given = {key: value for key, value in facts.video.items() if key not in _UNUSED}
        return {**given, "size": {"shortest_edge": 128 * self.square**2, "longest_edge": 768 * self.square**2}}

    def placeholder(self, modality: str, ordinal: int) -> str:
        return f"{self.marks[0]}{self.tokens[modality][0]}{self.marks[1]}"

    def plan(self, modality: str, media: Any, kwargs: Mapping[str, Any]) -> Any:
        if kwargs.get("use_audio_in_video") or kwargs.get("videos_kwargs", {}).get("use_audio_in_video"):
            raise BadRequest("The sound of videos is not rendered here.", "mm_processor_kwargs")
        return super().plan(modality, media, kwargs)

    def time_fields(self, clip: Clip, temporal: int, chosen: Options) -> Fields:
        seconds = temporal / (chosen.get("fps") or self.fps)
        return {
            "use_audio_in_video": Field(Tensor("bool", (), b"\0"), "shared", keep_on_cpu=True),
            "second_per_grid_ts": Field(bfloat16(seconds), "batched", keep_on_cpu=True),
        }


class Qwen3Omni(Qwen25Omni):
    """Qwen3-Omni's thinker."""

    tokens: Mapping[str, tuple[str, str]] = {
        "image": ("<|image_pad|>", "image_token_id"),
        "video": ("<|video_pad|>", "video_token_id"),
    }
    marks = ("<|vision_start|>", "<|vision_end|>")
    square = 32
    fps = 1.0
