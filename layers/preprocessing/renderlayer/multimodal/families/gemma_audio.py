"""Sound of Gemma 3n and Gemma 4: frames of a spectrogram every 10 ms, and which of them hold sound."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from renderlayer.multimodal.tensor import Field, Fields

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from renderlayer.multimodal.audio.sound import Samples

_GEMMA4: Mapping[str, Any] = {
    "frame_length_ms": 20.0,
    "min_frequency": 0.0,
    "max_frequency": 8000.0,
    "preemphasis": 0.0,
    "fft_overdrive": False,
    "mel_floor": 1e-3,
    "fine_window": True,
}
_FRAME, _HOP = 20.0, 10.0  # milliseconds
_LONGEST, _SHORTEST = 480_000, 513  # samples that Gemma 3n keeps of a sound, and that make a frame once padded


def gemma3n_hears(samples: int) -> bool:
    """Whether a sound of so many samples has a frame."""
    return samples >= _SHORTEST


def gemma3n_fields(samples: Samples, given: Mapping[str, Any]) -> Fields:
    """All whole frames of the padded sound."""
    import numpy as np

    from renderlayer.multimodal.audio import universal_speech as speech

    recipe = speech.Recipe().over(given)
    kept = samples[:_LONGEST]
    levels = np.log(np.maximum(speech.magnitudes(speech.silenced(kept), recipe), recipe.mel_floor))
    heard = np.arange(len(levels)) * recipe.hop < len(kept)
    return sound_fields(speech.normalised(levels, recipe), heard)


def gemma4_fields(samples: Samples, given: Mapping[str, Any]) -> Fields:
    """The frames that hold nothing but the sound and half a frame of silence before it."""
    import numpy as np

    from renderlayer.multimodal.audio import universal_speech as speech

    recipe = speech.Recipe(**_GEMMA4).over(given)
    before = recipe.frame // 2
    whole = np.pad(speech.silenced(samples), (before, 0))
    levels = np.log(speech.magnitudes(whole, recipe) + recipe.mel_floor)
    mel = speech.normalised(levels, recipe)[: recipe.frames(before + len(samples))]
    return sound_fields(mel, np.ones(len(mel), np.bool_))


def sound_fields(mel: NDArray[np.float32], heard: NDArray[np.bool_]) -> Fields:
    """What holds a sound, (frames, width), and which of it counts."""
    from renderlayer.multimodal.arrays import bfloat16, tensor

    return {
        "input_features_padded": Field(tensor("bfloat16", bfloat16(mel)), "batched"),
        "input_features_mask": Field(tensor("bool", heard), "batched"),
    }


def gemma4_tokens(samples: int, rate: int, most: int) -> int:
    """One for four frames, as two convolutions leave them."""
    frame, hop = round(rate * _FRAME / 1000), round(rate * _HOP / 1000)
    frames = (samples + frame // 2 - frame - 1) // hop + 1
    return min((max(0, frames) + 3) // 4, most)
