"""Resampling of sound by a windowed sinc, as torchaudio's `Resample` computes it with its defaults.

The rates are divided by their common factor; each of the `new` phases has its own filter, which moves over the samples
in steps of `orig`. Hashes are those of the resampled samples, so every sum is rounded as torch rounds it on processors
with AVX-512 of Intel's: one fused multiplication and addition for each tap, in an order that depends on the number of
phases and taps. There is no torch here, and no BLAS whose order depends on the processor.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from renderlayer.multimodal.audio.fused import fused

Samples = NDArray[np.float32]
Doubles = NDArray[np.float64]

_LOBES = 6  # zero crossings of the sinc on each side
_ROLLOFF = 0.99  # of the lower Nyquist frequency
_MOST_TAPS = 1 << 23  # of all phases together; rates with little in common would need more
_WORKING_SET = 1 << 18  # sums that are computed at a time
_RUN = 384  # taps that are added up before their sum joins that of the taps before
_LANES, _GROUP = 16, 8  # sums of one phase that are computed together, and taps


def is_taken(rate: int, wanted: int) -> bool:
    """Whether the filters between these rates are of a reasonable size."""
    common = math.gcd(rate, wanted)
    return (rate // common) * (wanted // common) <= _MOST_TAPS


def resample(samples: Samples, rate: int, wanted: int) -> Samples:
    """Mono samples at `rate`, brought to `wanted` samples a second."""
    common = math.gcd(rate, wanted)
    orig, new = rate // common, wanted // common
    kernel, width = _kernel(orig, new)
    padded = np.pad(samples, (width, width + orig)).astype(np.float64)
    steps = len(samples) // orig + 1
    size = max(_LANES, _WORKING_SET // new // _LANES * _LANES)
    parts = []
    for start in range(0, steps, size):
        rows = min(size, steps - start)
        window = padded[start * orig : (start + rows - 1) * orig + kernel.shape[1]]
        parts.append(_one_phase(window, kernel[0], orig, rows) if new == 1 else _phases(window, kernel, orig, rows))
    return np.concatenate(parts)[: math.ceil(len(samples) * new / orig)]


@lru_cache(maxsize=8)
def _kernel(orig: int, new: int) -> tuple[NDArray[np.float32], int]:
    """The filters of all phases (new, 2 · width + orig), and by how much they reach to either side."""
    cutoff = min(orig, new) * _ROLLOFF
    width = math.ceil(_LOBES * orig / cutoff)
    phases = np.arange(0, -new, -1, dtype=np.float32) / np.float32(new)  # in single precision there, too
    steps = np.arange(-width, width + orig, dtype=np.float64) / orig
    times = np.clip((phases.astype(np.float64)[:, None] + steps[None]) * cutoff, -_LOBES, _LOBES)
    window = np.cos(times * math.pi / _LOBES / 2) ** 2
    angles = times * math.pi
    with np.errstate(invalid="ignore"):
        sinc = np.where(angles == 0, 1.0, np.sin(angles) / angles)
    return (sinc * (window * (cutoff / orig))).astype(np.float32), width


def _phases(padded: Doubles, kernel: NDArray[np.float32], orig: int, steps: int) -> Samples:
    """`steps` sums of every phase: tap after tap, in runs whose sums are added."""
    new, taps = kernel.shape
    used = kernel != 0
    first = used.argmax(axis=1)
    span = int((taps - used[:, ::-1].argmax(axis=1) - first).max())
    begins = _runs(taps)
    at = first[None] + orig * np.arange(steps)[:, None]
    before, sums = np.zeros((2, steps, new), np.float32)
    for tap in range(span):
        reached = first + tap
        fresh = np.isin(reached, begins)
        if fresh.any():
            before[:, fresh] += sums[:, fresh]
            sums[:, fresh] = 0
        inside = reached < taps
        weights = np.where(inside, kernel[np.arange(new), np.minimum(reached, taps - 1)], 0).astype(np.float64)
        sums = fused(padded[np.minimum(at + tap, len(padded) - 1)], weights, sums)
    return (before + sums).reshape(-1)


def _runs(taps: int) -> list[int]:
    """Where the runs of taps begin, but for the first: the last two are halves of what is left."""
    begins, at = [], 0
    while (left := taps - at) > _RUN:
        at += _RUN if left >= 2 * _RUN else (left + 1) // 2
        begins.append(at)
    return begins


def _one_phase(padded: Doubles, filters: NDArray[np.float32], orig: int, steps: int) -> Samples:
    """`steps` sums of the only phase: in groups of taps, but tap after tap for the last few."""
    weights = filters.astype(np.float64)
    whole = steps // _LANES * _LANES

    def joined(tap: int, sums: Samples | None, start: int, end: int) -> Samples:
        column = padded[start * orig + tap : (end - 1) * orig + tap + 1 : orig]
        return fused(column, weights[tap], np.zeros(end - start, np.float32) if sums is None else sums)

    out = np.zeros(steps, np.float32)
    grouped = len(weights) // _GROUP * _GROUP
    if whole:
        head = out[:whole]
        for tap in range(0, grouped, _GROUP):
            pairs = [joined(tap + low, joined(tap + high, None, 0, whole), 0, whole) for low, high in _PAIRS]
            head = joined(tap + 4, joined(tap + 6, head, 0, whole), 0, whole) + pairs[0]
            head += pairs[1] + pairs[2]
        for tap in range(grouped, len(weights)):
            head = joined(tap, head, 0, whole)
        out[:whole] = head
    if whole < steps:
        tail = out[whole:]
        for tap in range(len(weights)):
            tail = joined(tap, tail, whole, steps)
        out[whole:] = tail
    return out


_PAIRS = ((5, 7), (0, 2), (1, 3))  # taps of a group whose products are added first; the second is multiplied first
