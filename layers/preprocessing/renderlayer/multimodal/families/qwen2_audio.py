"""Qwen2-Audio: Whisper's spectrogram of up to 30 seconds, a token every 40 ms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from renderlayer.errors import BadRequest
from renderlayer.multimodal.families.base import Facts, Plain, Plan
from renderlayer.multimodal.tensor import Field, Fields

if TYPE_CHECKING:
    from renderlayer.multimodal.audio.sound import Sound

_RATE, _HOP, _SECONDS, _BANDS = 16_000, 160, 30, 128


class Qwen2Audio(Plain):
    """Qwen2-Audio."""

    modalities = ("audio",)

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.audio = facts.token("<|AUDIO|>", "audio_token_index", "audio_token_id")
        self.sampling_rate = int(facts.audio.get("sampling_rate", _RATE))
        self.bands = int(facts.audio.get("feature_size", _BANDS))
        self.longest = int(facts.audio.get("chunk_length", _SECONDS)) * self.sampling_rate

    def placeholder(self, modality: str, ordinal: int) -> str:
        return f"Audio {ordinal}: <|audio_bos|><|AUDIO|><|audio_eos|>"

    def target(self, modality: str) -> list[int]:
        return [self.audio]

    def plan(self, modality: str, media: Sound, kwargs: Mapping[str, Any]) -> Plan:
        frames = -(-min(len(media.samples), self.longest) // _HOP)
        count = ((frames - 1) // 2 + 1 - 2) // 2 + 1
        if count < 1:
            raise BadRequest("The audio is too short to be represented inside the model")

        def fields() -> Fields:
            import numpy as np

            from renderlayer.multimodal.arrays import bfloat16, tensor
            from renderlayer.multimodal.audio.spectrogram import log_mel

            whole = np.zeros(self.longest, np.float32)
            kept = media.samples[: self.longest]
            whole[: len(kept)] = kept
            mask = (np.arange(self.longest // _HOP) < frames).astype(np.int32)
            return {
                "input_features": Field(tensor("bfloat16", bfloat16(log_mel(whole, self.bands))), "batched"),
                "feature_attention_mask": Field(tensor("int32", mask), "batched"),
            }

        return Plan([self.audio] * count, {}, fields)
