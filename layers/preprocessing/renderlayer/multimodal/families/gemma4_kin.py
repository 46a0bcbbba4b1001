"""Gemma 4 without an image or audio encoder: squares of pixels and stretches of samples; and the one for diffusion."""

from __future__ import annotations

from renderlayer.multimodal.audio.sound import Samples
from renderlayer.multimodal.families.base import Options
from renderlayer.multimodal.families.gemma4 import Gemma4
from renderlayer.multimodal.families.gemma_audio import sound_fields
from renderlayer.multimodal.tensor import Fields

_STRETCH = 640  # samples of a token


class Gemma4Unified(Gemma4):
    """A token's patches are sent as one, and its samples as they are."""

    merged = True

    def sound_fields(self, samples: Samples, chosen: Options) -> Fields:
        import numpy as np

        stretch = int(chosen.get("audio_samples_per_token") or _STRETCH)
        cut = np.pad(samples, (0, -len(samples) % stretch)).reshape(-1, stretch)
        return sound_fields(cut, np.ones(len(cut), np.bool_))


class DiffusionGemma(Gemma4):
    """Takes no sound."""

    hears = False
