"""Ultravox: Whisper's spectrogram in pieces of 30 seconds, a token for every 16 frames of a piece.

Its processor is code that comes with the model; the layout follows its published form, the values are not promised.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from renderlayer.multimodal.families.base import Facts, Plain, Plan
from renderlayer.multimodal.tensor import Field, Fields, int64

if TYPE_CHECKING:
    from renderlayer.multimodal.sound import Sound

_RATE, _HOP, _PIECE, _BANDS, _DOWNSAMPLE, _STACK = 16_000, 160, 3000, 80, 2, 8


class Ultravox(Plain):
    """Ultravox on a Whisper encoder."""

    modalities = ("audio",)
    portable = False
    promise = "approximate: the audio processor comes with the model and is not compared with"

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.audio = facts.token("<|audio|>", "audio_token_index")
        self.sampling_rate = _RATE
        self.bands = int(facts.config.get("audio_config", {}).get("num_mel_bins", _BANDS))
        self.step = _DOWNSAMPLE * int(facts.config.get("stack_factor", _STACK))

    def placeholder(self, modality: str, ordinal: int) -> str:
        return "<|audio|>"

    def target(self, modality: str) -> list[int]:
        return [self.audio]

    def plan(self, modality: str, media: Sound, kwargs: Mapping[str, Any]) -> Plan:
        frames = max(1, -(-len(media.samples) // _HOP))
        lengths = [min(_PIECE, frames - start) for start in range(0, frames, _PIECE)]
        tokens = [-(-length // self.step) for length in lengths]

        def fields() -> Fields:
            return {
                "audio_features": Field(_pieces(media, frames, lengths, self.bands), "flat"),
                "audio_token_len": Field(int64(tokens), "flat"),
                "audio_lens": Field(int64(lengths), "flat"),
                "audio_num_chunks": Field(int64(len(lengths)), "batched"),
            }

        return Plan([self.audio] * sum(tokens), {}, fields)


def _pieces(sound: Sound, frames: int, lengths: list[int], bands: int) -> Any:
    """bfloat16 of shape (pieces, bands, frames of the longest); the last piece ends in zeros."""
    import numpy as np

    from renderlayer.multimodal.pixels.arrays import bfloat16, tensor
    from renderlayer.multimodal.pixels.spectrogram import log_mel

    whole = np.zeros(frames * _HOP, np.float32)
    whole[: len(sound.samples)] = sound.samples
    mel = log_mel(whole, bands)
    cut = np.zeros((len(lengths), bands, max(lengths)), np.float32)
    for index, length in enumerate(lengths):
        cut[index, :, :length] = mel[:, index * _PIECE : index * _PIECE + length]
    return tensor("bfloat16", bfloat16(cut))
