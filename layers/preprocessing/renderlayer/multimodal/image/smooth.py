"""Bicubic resizing of floating-point images without antialiasing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]  # (channels, height, width)

_CUBIC = np.float32(-0.75)


def resize_float(planes: Floats, size: tuple[int, int]) -> Floats:
    """The image at a new (height, width): with torch, where it is installed, else to about 1e-6 the same."""
    try:
        import torch
    except ImportError:
        return _resized(_resized(planes, size[0], 1), size[1], 2)
    batch = torch.from_numpy(planes).unsqueeze(0)
    resized: Floats = torch.nn.functional.interpolate(batch, size=size, mode="bicubic", align_corners=False)[0].numpy()
    return resized


def _resized(planes: Floats, length: int, axis: int) -> Floats:
    own = planes.shape[axis]
    at = (np.arange(length, dtype=np.float32) + np.float32(0.5)) * np.float32(own / length) - np.float32(0.5)
    base = np.floor(at)
    weights = _weights(at - base)
    total = np.zeros([length if index == axis else side for index, side in enumerate(planes.shape)], np.float32)
    shape = [-1 if index == axis else 1 for index in range(planes.ndim)]
    for tap, weight in enumerate(weights, start=-1):
        source = np.clip(base.astype(np.int64) + tap, 0, own - 1)
        total += np.take(planes, source, axis=axis) * weight.reshape(shape)
    return total


def _weights(fraction: Floats) -> list[Floats]:
    """Of the positions one before, at, one and two behind the base."""
    near, far = _near(fraction), _far(fraction + np.float32(1))
    other = np.float32(1) - fraction
    return [far, near, _near(other), _far(other + np.float32(1))]


def _near(x: Floats) -> Floats:
    return ((_CUBIC + 2) * x - (_CUBIC + 3)) * x * x + 1


def _far(x: Floats) -> Floats:
    return ((_CUBIC * x - 5 * _CUBIC) * x + 8 * _CUBIC) * x - 4 * _CUBIC
