"""Qwen2.5-Omni and Qwen3-Omni: images and videos as in Qwen2-VL, normalised here; sound as Whisper's spectrogram."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from renderlayer.errors import BadRequest
from renderlayer.multimodal.families.base import Facts, Options, Plan
from renderlayer.multimodal.families.qwen_video import Qwen2VL
from renderlayer.multimodal.tensor import Field, Fields, Tensor, bfloat16, int32, int64

if TYPE_CHECKING:
    from renderlayer.multimodal.audio.sound import Sound
    from renderlayer.multimodal.video.clip import Clip

_HOP, _WINDOW, _SHORTEST = 160, 400, 480_000  # samples: from frame to frame, of a frame, of the padded sound
_UNUSED = ("size", "min_pixels", "max_pixels", "fps")


class Qwen25Omni(Qwen2VL):
    """Qwen2.5-Omni's thinker."""

    modalities: tuple[str, ...] = ("image", "video", "audio")
    normalised = True
    tokens: Mapping[str, tuple[str, str]] = {
        "image": ("<|IMAGE|>", "image_token_index"),
        "video": ("<|VIDEO|>", "video_token_index"),
        "audio": ("<|AUDIO|>", "audio_token_index"),
    }
    marks = ("<|vision_bos|>", "<|vision_eos|>")
    audio_marks = ("<|audio_bos|>", "<|audio_eos|>")
    square = 28  # pixels of an edge that become a token
    fps = 2.0  # frames a second that the processor takes for granted

    def __init__(self, facts: Facts) -> None:
        thinker = facts.config.get("thinker_config") or facts.config
        self.facts = replace(facts, config=thinker, video=self._video(facts))
        self.image_pad = self.facts.token(*self.tokens["image"])
        self.video_pad = self.facts.token(*self.tokens["video"])
        self.audio = self.facts.token(*self.tokens["audio"])
        self.bands = int(facts.audio.get("feature_size", 128))

    def _video(self, facts: Facts) -> Options:
        """The processor's bounds for videos are its own, whatever the configuration says of images."""
        given = {key: value for key, value in facts.video.items() if key not in _UNUSED}
        return {**given, "size": {"shortest_edge": 128 * self.square**2, "longest_edge": 768 * self.square**2}}

    def placeholder(self, modality: str, ordinal: int) -> str:
        begin, end = self.audio_marks if modality == "audio" else self.marks
        return f"{begin}{self.tokens[modality][0]}{end}"

    def target(self, modality: str) -> list[int]:
        return [self.audio] if modality == "audio" else super().target(modality)

    def plan(self, modality: str, media: Any, kwargs: Mapping[str, Any]) -> Any:
        if kwargs.get("use_audio_in_video") or kwargs.get("videos_kwargs", {}).get("use_audio_in_video"):
            raise BadRequest("The sound of videos is not rendered here.", "mm_processor_kwargs")
        return self._plan_audio(media) if modality == "audio" else super().plan(modality, media, kwargs)

    def _plan_audio(self, sound: Sound) -> Plan:
        frames, length = self.frame_counts(len(sound.samples))
        count = self.audio_tokens(frames)
        if count < 1:
            raise BadRequest("The audio is too short to be represented inside the model")
        lengths = Field(int64(frames), "batched", keep_on_cpu=True)
        mask = Field(self.mask(frames, length), "batched", keep_on_cpu=True)
        metadata = {"audio_feature_lengths": lengths, "feature_attention_mask": mask}

        def fields() -> Fields:
            import numpy as np

            from renderlayer.multimodal.arrays import bfloat16, tensor
            from renderlayer.multimodal.audio.spectrogram import HOP, log_mel

            whole = np.zeros(max(length * HOP, len(sound.samples)), np.float32)
            whole[: len(sound.samples)] = sound.samples
            mel = log_mel(whole, self.bands)[:, :frames]
            return {**metadata, "input_audio_features": Field(tensor("bfloat16", bfloat16(mel)), "flat", dim=1)}

        return Plan([self.audio] * count, metadata, fields)

    def frame_counts(self, samples: int) -> tuple[int, int]:
        """Frames of the spectrogram that hold sound, and all of them: 30 seconds at least."""
        length = max(_SHORTEST, samples) // _HOP
        return min(-(-samples // _HOP), length), length

    def audio_tokens(self, frames: int) -> int:
        """One for four frames, as two convolutions leave them."""
        return ((frames - 1) // 2 + 1 - 2) // 2 + 1

    def mask(self, frames: int, length: int) -> Tensor:
        """Which frames hold sound."""
        return int32([1] * frames + [0] * (length - frames))

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
        "audio": ("<|audio_pad|>", "audio_token_id"),
    }
    marks = ("<|vision_start|>", "<|vision_end|>")
    audio_marks = ("<|audio_start|>", "<|audio_end|>")
    square = 32
    fps = 1.0

    def frame_counts(self, samples: int) -> tuple[int, int]:
        """Only those that hold sound."""
        if samples <= _WINDOW // 2:
            raise BadRequest("The audio is too short to be represented inside the model")
        return samples // _HOP, samples // _HOP

    def audio_tokens(self, frames: int) -> int:
        """13 a second, and those of what is left."""
        left = (frames % 100 - 1) // 2 + 1
        return ((left - 1) // 2 + 1 - 1) // 2 + 1 + frames // 100 * 13

    def mask(self, frames: int, length: int) -> Tensor:
        return Tensor("float32", (frames,), struct.pack(f"<{frames}f", *[1.0] * frames))
