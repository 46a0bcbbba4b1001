"""The log-mel spectrogram of Whisper's encoder and its kin, and that of Granite Speech.

The reference computes them with torch; here they are computed without it, rounded as torch rounds on Intel's AVX-512.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from renderlayer.multimodal.audio import fourier, fourier_512
from renderlayer.multimodal.audio.fused import fused

Samples = NDArray[np.float32]
Mel = NDArray[np.float32]  # (bands, frames)

WINDOW = fourier.LENGTH  # samples of a frame
HTK_LENGTH = fourier_512.LENGTH  # samples of a Fourier transform around a frame
HOP = 160  # samples from one frame to the next
_BLOCK = 1024  # frames that are computed at a time
_FLOOR = 1e-10
_RANGE = 8.0  # decades below the loudest value that are kept
_HIGHEST = 8000.0
# Slaney's mel scale: linear below 1 kHz, logarithmic above.
_BREAK_HERTZ, _BREAK_MEL, _MELS_A_HERTZ, _LOG_STEP = 1000.0, 15.0, 3.0 / 200.0, 27.0


def log_mel(samples: Samples, bands: int, rate: int = 16_000) -> Mel:
    """Frames of 25 ms every 10 ms, `bands` mel bands, log10, the loudest eight decades scaled to about one."""
    count = len(samples) // HOP
    sounding = np.flatnonzero(samples)
    heard = min(count, (int(sounding[-1]) + WINDOW // 2) // HOP + 1) if len(sounding) else 0
    around = np.pad(samples, WINDOW // 2, mode="reflect")
    frames = np.lib.stride_tricks.sliding_window_view(around, WINDOW)[::HOP]
    energy = np.zeros((bands, count), np.float32)
    for start in range(0, heard, _BLOCK):
        end = min(start + _BLOCK, heard)
        energy[:, start:end] = _banded(fourier.transform(frames[start:end] * _hann()), _filters(bands, rate))
    return _scaled(np.log10(np.maximum(energy, np.float32(_FLOOR)).astype(np.float64)).astype(np.float32))


def _banded(spectrum: fourier.Pair, filters: NDArray[Any]) -> Mel:
    """The energy in each band, (bands, frames): summed up from the lowest frequency."""
    real, imaginary = (part.astype(np.float64) for part in spectrum)
    power = np.sqrt(real * real + imaginary * imaginary).astype(np.float32) ** 2
    weights = filters.astype(np.float32)
    energy = np.zeros((weights.shape[1], power.shape[1]), np.float32)
    for frequency, row in enumerate(weights):
        for band in np.flatnonzero(row):
            energy[band] = fused(power[frequency], row[band], energy[band])
    return energy


@lru_cache(maxsize=1)
def _hann() -> Samples:
    """Hann's window as torch has it, whose cosine is off by a bit in some places."""
    turns = np.arange(WINDOW, dtype=np.float32) * np.float32(2 * np.pi / WINDOW)
    window = np.float32(0.5) - np.float32(0.5) * np.cos(turns.astype(np.float64)).astype(np.float32)
    for places, gap in (
        ((36, 55, 398), 2.0**-25),
        ((18, 26, 88, 341, 381, 385), -(2.0**-25)),
        ((160, 195, 239), -(2.0**-24)),
    ):
        window[list(places)] += np.float32(gap)
    return window


def htk_log_mel(samples: Samples, bands: int, rate: int, hop: int) -> Mel:
    """As torchaudio's `MelSpectrogram` has it, then log10 and the loudest eight decades scaled: (bands, frames).

    Frames are 400 samples in the middle of a transform of 512.
    """
    around = np.pad(samples, HTK_LENGTH // 2, mode="reflect")
    frames = np.lib.stride_tricks.sliding_window_view(around, HTK_LENGTH)[::hop]
    window = np.pad(_hann(), (HTK_LENGTH - WINDOW) // 2)
    filters = _htk_filters(bands, rate)
    energy = np.empty((bands, len(frames)), np.float32)
    for start in range(0, len(frames), _BLOCK):
        spectrum = fourier_512.transform(frames[start : start + _BLOCK] * window)
        energy[:, start : start + _BLOCK] = _banded(spectrum, filters)
    levels = np.log10(np.maximum(energy, np.float32(_FLOOR)).astype(np.float64)).astype(np.float32)
    kept: Mel = np.maximum(levels, levels.max() - np.float32(_RANGE))
    return kept / np.float32(4.0) + np.float32(1.0)


def _scaled(levels: Mel) -> Mel:
    kept: Mel = np.maximum(levels, levels.max() - np.float32(_RANGE))
    return (kept + np.float32(4.0)) / np.float32(4.0)


@lru_cache(maxsize=4)
def _htk_filters(bands: int, rate: int) -> NDArray[np.float32]:
    """Triangles of height one on the HTK scale, in single precision: (frequencies, bands)."""
    high, one = 2595.0 * math.log10(1.0 + (rate / 2) / 700.0), np.float32(1.0)
    mels = _even(high, bands + 2) / np.float32(2595.0)
    edges = np.float32(700.0) * ((10.0 ** mels.astype(np.float64)).astype(np.float32) - one)
    slopes = edges[None] - _even(rate // 2, HTK_LENGTH // 2 + 1)[:, None]
    widths = np.diff(edges)
    filters: NDArray[np.float32] = np.maximum(
        np.float32(0), np.minimum(-slopes[:, :-2] / widths[:-1], slopes[:, 2:] / widths[1:])
    )
    return filters


def _even(end: float, count: int) -> NDArray[np.float32]:
    """Even steps from zero, counted from the nearer end as torch does."""
    last, at = np.float32(end), np.arange(count, dtype=np.float32)
    step = last / np.float32(count - 1)
    return np.where(at < count // 2, step * at, last - step * at[::-1])


@lru_cache(maxsize=4)
def _filters(bands: int, rate: int) -> NDArray[np.float64]:
    """Triangles over the frequencies, of equal area: (frequencies, bands)."""
    edges = _hertz(np.linspace(0.0, _mel(_HIGHEST), bands + 2))
    slopes = edges[None] - np.linspace(0, rate // 2, WINDOW // 2 + 1)[:, None]
    widths = np.diff(edges)
    triangles = np.maximum(0.0, np.minimum(-slopes[:, :-2] / widths[:-1], slopes[:, 2:] / widths[1:]))
    filters: NDArray[np.float64] = triangles * (2.0 / (edges[2:] - edges[:-2]))[None]
    return filters


def _mel(hertz: float) -> float:
    return float(_BREAK_MEL + np.log(hertz / _BREAK_HERTZ) * (_LOG_STEP / np.log(6.4)))


def _hertz(mels: NDArray[np.float64]) -> NDArray[np.float64]:
    above = _BREAK_HERTZ * np.exp(np.log(6.4) / _LOG_STEP * (mels - _BREAK_MEL))
    return np.where(mels >= _BREAK_MEL, above, 200.0 * mels / 3.0)
