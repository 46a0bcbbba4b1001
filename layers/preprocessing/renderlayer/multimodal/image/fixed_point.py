"""Separable resampling in fixed point, with numpy alone.

For each output position the filter's weights are normalised and rounded to integers at the largest precision that
keeps the greatest below 2^15; a pass accumulates from one half, shifts, and clamps to a byte. Width comes first.
The filter is widened when shrinking (antialiasing).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]

_GREATEST_WEIGHT = 1 << 15
_MOST_PRECISION = 22
_WORKING_SET = 16 << 20  # bytes of widened input that a pass holds at a time
_CUBIC = -0.5
_LOBES = 3.0


@dataclass(frozen=True)
class Taps:
    """For each output position: where its input begins, and its integer weights."""

    starts: list[int]
    weights: list[NDArray[np.int32]]
    precision: int


def resize(image: Bytes, height: int, width: int, method: str) -> Bytes:
    """Resample (height, width, channels) to (channels, height, width)."""
    columns = image.transpose(1, 2, 0)  # (width, channels, height): a pass runs over the first axis
    if columns.shape[0] != width:
        columns = _pass(columns, taps(columns.shape[0], width, method))
    rows = columns.transpose(2, 1, 0)
    if rows.shape[0] != height:
        rows = _pass(rows, taps(rows.shape[0], height, method))
    return np.ascontiguousarray(rows.transpose(1, 0, 2))


def taps(size: int, out: int, method: str) -> Taps:
    """The weights that take `size` positions to `out`."""
    radius, kernel = _FILTERS[method]
    scale = size / out
    support = radius * max(scale, 1.0)
    inverse = 1.0 / scale if scale >= 1.0 else 1.0
    starts: list[int] = []
    exact: list[list[float]] = []
    for position in range(out):
        center = scale * (position + 0.5)
        start = max(int(center - support + 0.5), 0)
        end = min(int(center + support + 0.5), size)
        weights = [kernel((at - center + 0.5) * inverse) for at in range(start, end)]
        total = sum(weights)
        starts.append(start)
        exact.append([weight / total for weight in weights] if total else weights)
    precision = _precision(max(max(weights) for weights in exact))
    rounded = [np.array([_rounded(weight * (1 << precision)) for weight in row], np.int32) for row in exact]
    return Taps(starts, rounded, precision)


def _precision(greatest: float) -> int:
    precision = 0
    while precision < _MOST_PRECISION and int(0.5 + greatest * (1 << (precision + 1))) < _GREATEST_WEIGHT:
        precision += 1
    return precision


def _rounded(value: float) -> int:
    return math.trunc(value - 0.5 if value < 0 else value + 0.5)


def _pass(source: Bytes, along: Taps) -> Bytes:
    """Resample the first axis of a three-dimensional array."""
    length, *rest = source.shape
    flat = source.reshape(length, -1)
    out = np.empty((len(along.starts), flat.shape[1]), np.uint8)
    step = max(1, _WORKING_SET // (4 * length))
    for left in range(0, flat.shape[1], step):
        _strip(flat[:, left : left + step].astype(np.int32), along, out[:, left : left + step])
    return out.reshape(len(along.starts), *rest)


def _strip(source: NDArray[np.int32], along: Taps, out: Bytes) -> None:
    total = np.empty(source.shape[1], np.int32)
    product = np.empty_like(total)
    for position, (start, weights) in enumerate(zip(along.starts, along.weights, strict=True)):
        total.fill(1 << (along.precision - 1))
        for offset, weight in enumerate(weights):
            np.multiply(source[start + offset], weight, out=product)
            np.add(total, product, out=total)
        np.right_shift(total, along.precision, out=total)
        np.clip(total, 0, 255, out=total)
        out[position] = total


def _linear(x: float) -> float:
    return max(0.0, 1.0 - abs(x))


def _cubic(x: float) -> float:
    x = abs(x)
    if x < 1.0:
        return ((_CUBIC + 2.0) * x - (_CUBIC + 3.0)) * x * x + 1.0
    if x < 2.0:
        return (((x - 5.0) * x + 8.0) * x - 4.0) * _CUBIC
    return 0.0


def _lanczos(x: float) -> float:
    return _sinc(x) * _sinc(x / _LOBES) if abs(x) < _LOBES else 0.0


def _sinc(x: float) -> float:
    return math.sin(math.pi * x) / (math.pi * x) if x else 1.0


# Name → radius in input pixels, and the filter.
_FILTERS: dict[str, tuple[float, Callable[[float], float]]] = {
    "bilinear": (1.0, _linear),
    "bicubic": (2.0, _cubic),
    "lanczos": (_LOBES, _lanczos),
}
