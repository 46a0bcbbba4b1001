"""Ultravox: Whisper's spectrogram in pieces of 30 seconds, a token for every 16 frames of a piece.

Its processor is code that comes with the model around Whisper's extractor; layout and values follow its published form.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from renderlayer.multimodal.families.base import Facts, Plain, Plan
from renderlayer.multimodal.tensor import Field, Fields, int32, int64

if TYPE_CHECKING:
    from renderlayer.multimodal.audio.sound import Sound

_RATE, _HOP, _PIECE, _BANDS, _DOWNSAMPLE, _STACK = 16_000, 160, 3000, 80, 2, 8
_FEWEST = 2  # frames, to which shorter audio is filled up
_UNIT = "<|audio|>"  # need not be a token of its own


class Ultravox(Plain):
    """Ultravox on a Whisper encoder."""

    modalities = ("audio",)
    gaps: Mapping[str, str] = {"audio": "the processor comes with the model and is not compared with"}

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.audio = int(facts.config.get("audio_token_index", 32_000))
        self.sampling_rate = _RATE
        self.bands = int(facts.config.get("audio_config", {}).get("num_mel_bins", _BANDS))
        self.step = _DOWNSAMPLE * int(facts.config.get("stack_factor", _STACK))

    def placeholder(self, modality: str, ordinal: int) -> str:
        return _UNIT

    def target(self, modality: str) -> list[int]:
        return self.facts.lexicon.encode(_UNIT)

    def plan(self, modality: str, media: Sound, kwargs: Mapping[str, Any]) -> Plan:
        frames = max(_FEWEST, -(-len(media.samples) // _HOP))
        lengths = [min(_PIECE, frames - start) for start in range(0, frames, _PIECE)]
        tokens = [-(-length // self.step) for length in lengths]

        metadata = {
            "audio_lens": Field(int64(lengths), "flat", keep_on_cpu=True),
            "audio_num_chunks": Field(int64(len(lengths)), "batched", keep_on_cpu=True),
        }

        def fields() -> Fields:
            return {
                "audio_features": Field(_pieces(media, frames, lengths, self.bands), "flat"),
                "audio_token_len": Field(int32(tokens), "flat"),
                **metadata,
            }

        return Plan([self.audio] * sum(tokens), metadata, fields)


def _pieces(sound: Sound, frames: int, lengths: list[int], bands: int) -> Any:
    """bfloat16 of shape (pieces, bands, frames of the longest); the last piece ends in zeros."""
    import numpy as np

    from renderlayer.multimodal.arrays import bfloat16, tensor
    from renderlayer.multimodal.audio.spectrogram import log_mel

    whole = np.zeros(frames * _HOP, np.float32)
    whole[: len(sound.samples)] = sound.samples
    mel = log_mel(whole, bands)
    cut = np.zeros((len(lengths), bands, max(lengths)), np.float32)
    for index, length in enumerate(lengths):
        cut[index, :, :length] = mel[:, index * _PIECE : index * _PIECE + length]
    return tensor("bfloat16", bfloat16(cut))
