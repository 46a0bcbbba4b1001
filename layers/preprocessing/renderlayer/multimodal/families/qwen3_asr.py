"""Qwen3-ASR: Whisper's spectrogram of half a second at least, and Qwen3-Omni's tokens for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from renderlayer.errors import BadRequest
from renderlayer.multimodal.families.base import Facts, Plain, Plan
from renderlayer.multimodal.tensor import Field, Fields, int32, int64

if TYPE_CHECKING:
    from renderlayer.multimodal.audio.sound import Sound

_RATE, _HOP, _WINDOW, _BANDS, _SHORTEST = 16_000, 160, 400, 128, 8000  # the last is Qwen3-ASR's own extractor's
_CHUNK, _CHUNK_TOKENS = 100, 13  # frames that the encoder looks at together, and tokens for them


class Qwen3ASR(Plain):
    """Qwen3-ASR, whole and in real time."""

    modalities = ("audio",)

    def __init__(self, facts: Facts) -> None:
        thinker = facts.config.get("thinker_config") or {}
        given = thinker.get("audio_token_id") or facts.config.get("audio_token_id")
        self.audio = int(given) if isinstance(given, int) else facts.token("<|audio_pad|>")
        self.sampling_rate = int(facts.audio.get("sampling_rate") or _RATE)
        self.bands = int(facts.audio.get("feature_size") or _BANDS)
        self.own = facts.audio.get("feature_extractor_type") != "WhisperFeatureExtractor"
        self.shortest = int(facts.audio.get("min_length", _SHORTEST)) if self.own else 0

    def placeholder(self, modality: str, ordinal: int) -> str:
        return "<|audio_start|><|audio_pad|><|audio_end|>"

    def target(self, modality: str) -> list[int]:
        return [self.audio]

    def plan(self, modality: str, media: Sound, kwargs: Mapping[str, Any]) -> Plan:
        samples = max(len(media.samples), self.shortest)
        frames = samples // _HOP
        if samples <= _WINDOW // 2:
            raise BadRequest("The audio is too short to be represented inside the model")
        filled = -frames % _CHUNK if self.own else 0
        metadata = {
            "feature_attention_mask": Field(int32([1] * frames + [0] * filled), "batched", keep_on_cpu=True),
            "audio_feature_lengths": Field(int64(frames), "batched", keep_on_cpu=True),
        }

        def fields() -> Fields:
            import numpy as np

            from renderlayer.multimodal.arrays import bfloat16, tensor
            from renderlayer.multimodal.audio.spectrogram import log_mel

            whole = np.zeros(samples, np.float32)
            whole[: len(media.samples)] = media.samples
            mel = bfloat16(log_mel(whole, self.bands)[:, :frames])
            return {"input_audio_features": Field(tensor("bfloat16", mel), "flat", dim=1), **metadata}

        return Plan([self.audio] * tokens_of(frames), metadata, fields)


def tokens_of(frames: int) -> int:
    """13 for each 100 frames, and those of what is left."""
    left = (frames % _CHUNK - 1) // 2 + 1
    return ((left - 1) // 2 + 1 - 1) // 2 + 1 + frames // _CHUNK * _CHUNK_TOKENS
