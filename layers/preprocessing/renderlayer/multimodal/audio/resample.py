"""Resampling of sound by a windowed sinc, as torchaudio's `Resample` computes it with its defaults.

The rates are divided by their common factor; each of the `new` phases has its own filter, which moves over the samples
in steps of `orig`. torch computes the sum, as in the reference, where it is installed; numpy agrees to about 1e-6.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Samples = NDArray[np.float32]

_LOBES = 6  # zero crossings of the sinc on each side
_ROLLOFF = 0.99  # of the lower Nyquist frequency
_MOST_TAPS = 1 << 23  # of all phases together; rates with little in common would need more
_WORKING_SET = 1 << 20  # numbers of the windows that numpy multiplies at a time


def is_taken(rate: int, wanted: int) -> bool:
    """Whether the filters between these rates are of a reasonable size."""
    common = math.gcd(rate, wanted)
    return (rate // common) * (wanted // common) <= _MOST_TAPS


def resample(samples: Samples, rate: int, wanted: int) -> Samples:
    """Mono samples at `rate`, brought to `wanted` samples a second."""
    common = math.gcd(rate, wanted)
    orig, new = rate // common, wanted // common
    kernel, width = _kernel(orig, new)
    padded = np.pad(samples, (width, width + orig))
    count = math.ceil(len(samples) * new / orig)
    try:
        return np.ascontiguousarray(_by_torch(padded, kernel, orig)[:count])
    except ImportError:
        return np.ascontiguousarray(_by_numpy(padded, kernel, orig)[:count])


@lru_cache(maxsize=8)
def _kernel(orig: int, new: int) -> tuple[NDArray[np.float32], int]:
    """The filters of all phases (new, 2 · width + orig), and by how much they reach to either side."""
    cutoff = min(orig, new) * _ROLLOFF
    width = math.ceil(_LOBES * orig / cutoff)
    steps = np.arange(-width, width + orig, dtype=np.float64) / orig
    times = np.clip(((np.arange(0, -new, -1) / new)[:, None] + steps[None]) * cutoff, -_LOBES, _LOBES)
    window = np.cos(times * math.pi / _LOBES / 2) ** 2
    angles = times * math.pi
    with np.errstate(invalid="ignore"):
        sinc = np.where(angles == 0, 1.0, np.sin(angles) / angles)
    return (sinc * (window * (cutoff / orig))).astype(np.float32), width


def _by_torch(padded: Samples, kernel: NDArray[np.float32], stride: int) -> Samples:
    import torch

    rows, filters = torch.from_numpy(padded)[None, None], torch.from_numpy(kernel)[:, None]
    phases = torch.nn.functional.conv1d(rows, filters, stride=stride)
    flat: Samples = phases.transpose(1, 2).reshape(-1).numpy()
    return flat


def _by_numpy(padded: Samples, kernel: NDArray[np.float32], stride: int) -> Samples:
    windows = np.lib.stride_tricks.sliding_window_view(padded, kernel.shape[1])[::stride]
    step = max(1, _WORKING_SET // kernel.shape[1])
    parts = [windows[at : at + step] @ kernel.T for at in range(0, len(windows), step)]
    flat: Samples = np.concatenate(parts).reshape(-1)
    return flat
