"""The Fourier transform of 512 real numbers, rounded as MKL rounds it in single precision on Intel's AVX-512.

Even and odd samples are one complex sequence of 256 = 16 · 16 numbers, transformed by sixteens twice: first by even and
odd outputs, with rotations of three multiplications each, then by fours twice. Two factors of the step that takes the
samples apart are not the nearest float32 numbers.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from renderlayer.multimodal.audio.fourier import Floats, Pair, apart, eights, times
from renderlayer.multimodal.audio.fused import fused

LENGTH = 512
_HALF = LENGTH // 2
_COSINE, _SINE = np.float32(np.cos(np.pi / 8)), np.float32(np.sin(np.pi / 8))
_SUM, _GAP = (np.float32(np.cos(np.pi / 8) + sign * np.sin(np.pi / 8)) for sign in (1, -1))
_DIAGONAL = np.float32(np.sqrt(0.5))


def transform(frames: Floats) -> Pair:
    """Of each frame (frames, 512) the coefficients of the 257 frequencies, (257, frames)."""
    lines = np.ascontiguousarray(frames.T)
    real, imaginary = (lines[part::2].reshape(16, 16, -1) for part in (0, 1))
    first = times(_sixteens((real, imaginary)), *_turns(16))
    whole = _fours_twice((first[0].swapaxes(0, 1), first[1].swapaxes(0, 1)))
    return apart((whole[0].reshape(_HALF, -1), whole[1].reshape(_HALF, -1)), *_last())


def _sixteens(values: Pair) -> Pair:
    """Transforms of sixteen, along the first axis."""
    out = tuple(np.empty_like(part) for part in values)
    gaps = [part[:8] - part[8:] for part in values]
    out[0][::2], out[1][::2] = eights((values[0][:8] + values[0][8:], values[1][:8] + values[1][8:]))
    for way, (mine, other, sign) in enumerate(((0, 1, 1), (1, 0, -1))):
        a, b = gaps[mine], gaps[other]
        outer, inner, left, right = a[1] - a[7], a[3] - a[5], b[1] + b[7], b[3] + b[5]
        straight, across = _SINE * (outer - inner), _COSINE * (left + right)
        steep = fused(outer, _SUM, -straight), fused(inner, -_GAP, straight)
        flat = fused(left, -_GAP, across), fused(right, -_SUM, across)
        for step, (lower, upper) in enumerate(((1, 7), (3, 5))):
            diagonal = -_DIAGONAL if step else _DIAGONAL
            along, beside = fused(a[2] - a[6], diagonal, a[0]), fused(b[2] + b[6], diagonal, b[4])
            one, two = along + steep[step], flat[step] - beside if step else beside + flat[step]
            out[way][lower], out[way][16 - lower] = one + sign * two, one - sign * two
            one, two = along - steep[step], flat[step] + beside if step else flat[step] - beside
            out[way][upper], out[way][16 - upper] = one + sign * two, one - sign * two
    return out[0], out[1]


def _fours_twice(values: Pair) -> Pair:
    """Transforms of sixteen along the first axis: of every fourth number, then across."""
    x, y = (part.reshape(4, 4, *part.shape[1:]) for part in values)
    first = _crossed((x[0] + x[2], y[0] + y[2]), (x[0] - x[2], y[0] - y[2]), (x[1], y[1]), (x[3], y[3]))
    turned = times(first, *_turns(4))
    out = tuple(np.empty_like(part) for part in first)
    for row in range(4):
        whole, odd, third = ((turned[0][row, at], turned[1][row, at]) for at in (0, 1, 3))
        if row % 2:
            x, y = first[0][row, 2], first[1][row, 2]
            side = (x + y, y - x) if row == 1 else (y - x, -(x + y))
            sums, gaps = (
                (fused(side[0], factor, whole[0]), fused(side[1], factor, whole[1]))
                for factor in (_DIAGONAL, -_DIAGONAL)
            )
        else:
            side = (turned[0][row, 2], turned[1][row, 2])
            sums, gaps = (whole[0] + side[0], whole[1] + side[1]), (whole[0] - side[0], whole[1] - side[1])
        out[0][:, row], out[1][:, row] = _crossed(sums, gaps, odd, third)
    return out[0].reshape(values[0].shape), out[1].reshape(values[1].shape)


def _crossed(sums: Pair, gaps: Pair, second: Pair, fourth: Pair) -> Pair:
    """Transforms of four, of which sum and difference of the first and the third number are known."""
    (a, b), (c, d) = sums, gaps
    real, imaginary = second[0] + fourth[0], second[1] + fourth[1]
    across, down = second[0] - fourth[0], second[1] - fourth[1]
    return (
        np.stack([a + real, c + down, a - real, c - down]),
        np.stack([b + imaginary, d - across, b - imaginary, d + across]),
    )


@lru_cache(maxsize=2)
def _turns(count: int) -> Pair:
    """Factors between two transforms of so many, (count, count, 1) or (count, count, 1, 1)."""
    turns = np.exp(-2j * np.pi * np.outer(np.arange(count), np.arange(count)) / count**2)
    shape = (count, count, 1) if count == 16 else (count, count, 1, 1)
    real, imaginary = (
        np.where(abs(part) < 1e-12, 0, part).astype(np.float32).reshape(shape) for part in (turns.real, turns.imag)
    )
    return real, imaginary


@lru_cache(maxsize=1)
def _last() -> Pair:
    """Cosines and negative sines of 1 to 127 parts of a turn in 512, (127, 1) each."""
    angles = 2 * np.pi * np.arange(1, _HALF // 2)[:, None] / LENGTH
    cosines, sines = np.cos(angles).astype(np.float32), -np.sin(angles).astype(np.float32)
    cosines[2] += np.float32(2.0**-24)
    sines[124] -= np.float32(2.0**-24)
    return cosines, sines
