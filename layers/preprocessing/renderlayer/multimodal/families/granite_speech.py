"""Granite Speech: one sound a prompt, three tokens for every 30 frames of its spectrogram, which go in pairs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from renderlayer.errors import BadRequest, ConfigurationError
from renderlayer.multimodal.families.base import Facts, Plain, Plan
from renderlayer.multimodal.tensor import Field, Fields, int64

if TYPE_CHECKING:
    from renderlayer.multimodal.audio.sound import Sound

_MEL = {"sample_rate": 16_000, "n_fft": 512, "win_length": 400, "hop_length": 160, "n_mels": 80}
_WINDOW, _DOWNSAMPLE = 15, 5  # pairs of frames that the projector looks at together, and for each of its tokens


class GraniteSpeech(Plain):
    """Granite Speech and Granite Speech Plus."""

    modalities = ("audio",)
    item_limits: Mapping[str, int] = {"audio": 1}

    def __init__(self, facts: Facts) -> None:
        self.audio = facts.token(str(facts.processor.get("audio_token", "<|audio|>")), "audio_token_index")
        given = facts.audio.get("melspec_kwargs") or facts.audio
        self.mel = {name: int(given.get(name) or default) for name, default in _MEL.items()}
        if (self.mel["n_fft"], self.mel["win_length"]) != (512, 400):
            raise ConfigurationError("Granite Speech: a spectrogram of other sizes than n_fft 512 and win_length 400")
        self.sampling_rate = self.mel["sample_rate"]
        self.window = int(facts.audio.get("projector_window_size") or _WINDOW)
        self.tokens = self.window // int(facts.audio.get("projector_downsample_rate") or _DOWNSAMPLE)

    def placeholder(self, modality: str, ordinal: int) -> str:
        return "<|audio|>"

    def target(self, modality: str) -> list[int]:
        return [self.audio]

    def plan(self, modality: str, media: Sound, kwargs: Mapping[str, Any]) -> Plan:
        if len(media.samples) <= self.mel["n_fft"] // 2:
            raise BadRequest("The audio is too short to be represented inside the model")
        pairs = (len(media.samples) // self.mel["hop_length"] + 1) // 2
        count = -(-pairs // self.window) * self.tokens
        metadata = {"audio_embed_sizes": Field(int64(count), "batched", keep_on_cpu=True)}

        def fields() -> Fields:
            import numpy as np

            from renderlayer.multimodal.arrays import bfloat16, tensor
            from renderlayer.multimodal.audio.spectrogram import htk_log_mel

            mel = htk_log_mel(media.samples, self.mel["n_mels"], self.sampling_rate, self.mel["hop_length"])
            mel = np.ascontiguousarray(mel.T[: 2 * pairs])
            return {
                "input_features": Field(tensor("bfloat16", bfloat16(mel.reshape(pairs, -1))), "batched"),
                **metadata,
            }

        return Plan([self.audio] * count, metadata, fields)
