"""Antialiased bilinear resizing of floating-point images, equal to torch's kernel on x86 to the last bit, without it.

Each output is a sum over its taps, first along rows, then along columns. torch's compiled loop multiplies and adds the
first taps in groups of four and fuses the two steps for the rest, and so do these sums.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

_GROUP = 4  # taps that are multiplied together


def resize_antialiased(planes: Floats, size: tuple[int, int]) -> Floats:
    """The image (channels, height, width) at a new (height, width)."""
    across = _along(planes, size[1])
    down = _along(np.ascontiguousarray(across.transpose(0, 2, 1)), size[0])
    return np.ascontiguousarray(down.transpose(0, 2, 1))


def _along(lines: Floats, length: int) -> Floats:
    """Lines (…, own length) at a new length."""
    if lines.shape[-1] == length:
        return lines
    first, counts, weights = _taps(lines.shape[-1], length)
    total: Floats = lines[..., first] * weights[0]
    for tap in range(1, len(weights)):
        grouped = tap <= (counts - 1) // _GROUP * _GROUP
        plain, fused = np.flatnonzero(grouped), np.flatnonzero((tap < counts) & ~grouped)
        if len(plain):
            total[..., plain] += lines[..., first[plain] + tap] * weights[tap, plain]
        if len(fused):
            product = lines[..., first[fused] + tap].astype(np.float64)
            product *= weights[tap, fused]
            product += total[..., fused]
            total[..., fused] = product
    return total


@lru_cache(maxsize=32)
def _taps(own: int, length: int) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    """For each output the first of its inputs, their number, and their weights (most taps, length)."""
    one, half = np.float32(1), np.float32(0.5)
    scale = np.float32(own) / np.float32(length)
    reach, inverse = (scale, one / scale) if scale >= 1 else (one, one)
    centre = scale * (np.arange(length, dtype=np.float32) + half)
    first = np.maximum((centre - reach + half).astype(np.int64), 0)
    counts = np.minimum((centre + reach + half).astype(np.int64), own) - first
    taps = np.arange(int(counts.max()))[:, None]
    offsets = np.abs(((taps + first).astype(np.float32) - centre + half) * inverse)
    weights = np.where((offsets < 1) & (taps < counts), one - offsets, np.float32(0))
    total = np.zeros(length, np.float32)
    for row in weights:
        total += row
    return first, counts, weights / np.where(total == 0, one, total)
