"""The log-mel spectrogram of Gemma's audio encoders, after the Universal Speech Model.

All of it is NumPy in the reference's processors, too, in the same precision step by step. Dithering, which adds noise
and is off in all published models, is left out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Samples = NDArray[np.float32]
Mel = NDArray[np.float32]  # (frames, bands)

MULTIPLE = 128  # samples, to which a sound is filled up with silence


@dataclass(frozen=True)
class Recipe:
    """Options of the extractor under their names there, which are those of `preprocessor_config.json`.

    Args:
        fine_window: whether the window is computed in double precision; no option there.
        frame, hop: samples of a frame, and from one to the next.
    """

    feature_size: int = 128
    sampling_rate: int = 16_000
    frame_length_ms: float = 32.0
    hop_length_ms: float = 10.0
    min_frequency: float = 125.0
    max_frequency: float = 7600.0
    preemphasis: float = 0.97
    preemphasis_htk_flavor: bool = True
    fft_overdrive: bool = True
    input_scale_factor: float = 1.0
    mel_floor: float = 1e-5
    per_bin_mean: tuple[float, ...] | None = None
    per_bin_stddev: tuple[float, ...] | None = None
    fine_window: bool = False

    def over(self, given: Mapping[str, Any]) -> Recipe:
        """These options with those of a configuration over them."""
        known = {name: given[name] for name in self.__dataclass_fields__ if given.get(name) is not None}
        lists = {name: tuple(value) for name, value in known.items() if isinstance(value, list)}
        return Recipe(**{**self.__dict__, **known, **lists})

    @property
    def frame(self) -> int:
        return round(self.sampling_rate * self.frame_length_ms / 1000)

    @property
    def hop(self) -> int:
        return round(self.sampling_rate * self.hop_length_ms / 1000)

    @property
    def transform(self) -> int:
        """Length of a Fourier transform."""
        return int(2 ** math.ceil(math.log2(self.frame))) << self.fft_overdrive

    def frames(self, samples: int) -> int:
        """How many whole frames there are, with the sample before each."""
        return max(0, (samples - self.frame - 1) // self.hop + 1)


def silenced(samples: Samples) -> Samples:
    """A sound filled up with silence."""
    return np.pad(samples, (0, -len(samples) % MULTIPLE))


def magnitudes(samples: Samples, recipe: Recipe) -> NDArray[np.float64]:
    """Magnitudes in each band, (frames, bands)."""
    if recipe.input_scale_factor != 1:
        samples = samples * recipe.input_scale_factor
    count = recipe.frames(len(samples))
    if not count:
        return np.zeros((0, recipe.feature_size))
    frames = np.lib.stride_tricks.sliding_window_view(samples, recipe.frame + 1)[:: recipe.hop][:count]
    spectrum = np.fft.rfft(
        _emphasised(frames, recipe) * _window(recipe.frame, recipe.fine_window), n=recipe.transform, axis=-1
    )
    bands: NDArray[np.float64] = np.abs(spectrum) @ _filters(recipe)
    return bands


def normalised(levels: NDArray[np.float64], recipe: Recipe) -> Mel:
    """Logarithms brought to the means and deviations of the training data, where the configuration has them."""
    if recipe.per_bin_mean is not None:
        levels = levels - np.array(recipe.per_bin_mean)
    if recipe.per_bin_stddev is not None:
        levels = levels / np.array(recipe.per_bin_stddev)
    return levels.astype(np.float32)


def _emphasised(frames: Samples, recipe: Recipe) -> Samples:
    """High tones raised: each sample less a part of the one before it."""
    amount = recipe.preemphasis
    if amount <= 0:
        return frames[:, :-1]
    if not recipe.preemphasis_htk_flavor:
        return frames[:, 1:] - amount * frames[:, :-1]
    return np.concatenate([frames[:, :1] * (1.0 - amount), frames[:, 1:-1] - amount * frames[:, :-2]], axis=1)


@lru_cache(maxsize=4)
def _window(length: int, fine: bool) -> Samples:
    """Hann's."""
    if fine:
        return np.hanning(length + 1)[:-1].astype(np.float32)
    turns = 2 * np.pi * np.arange(length, dtype=np.float32) / length
    return (0.5 * (1 - np.cos(turns))).astype(np.float32)


@lru_cache(maxsize=4)
def _filters(recipe: Recipe) -> NDArray[np.float64]:
    """Triangles of height one over the frequencies, at equal steps of the HTK mel scale: (frequencies, bands)."""
    low, high = (2595.0 * math.log10(1.0 + hertz / 700.0) for hertz in (recipe.min_frequency, recipe.max_frequency))
    edges = 700.0 * (10 ** (np.linspace(low, high, recipe.feature_size + 2) / 2595.0) - 1.0)
    step = recipe.sampling_rate / recipe.transform
    slopes = edges[None] - (np.arange(recipe.transform // 2 + 1, dtype=np.float32) * step)[:, None]
    widths = np.diff(edges)
    filters: NDArray[np.float64] = np.maximum(0, np.minimum(-slopes[:, :-2] / widths[:-1], slopes[:, 2:] / widths[1:]))
    return filters
