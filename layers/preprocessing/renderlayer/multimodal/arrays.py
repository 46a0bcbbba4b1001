"""From planes of bytes to what vision encoders take: patch rows and bfloat16."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from renderlayer.multimodal.tensor import Deferred, Tensor

Planes = NDArray[np.uint8]  # (channels, height, width)


def patch_rows(
    frames: Sequence[NDArray[np.uint8] | NDArray[np.uint16]], patch: int, merge: int, temporal: int
) -> Tensor:
    """Cut frames of one size into rows for encoders of the Qwen-VL kind.

    Args:
        frames: one image, or the frames of a video, as bytes or as the bit patterns of bfloat16; the last is repeated
            to fill a group of `temporal`.
        patch: edge of a patch in pixels; height and width are multiples of patch · merge.
        merge: edge in patches of the squares whose patches stand together.

    Returns:
        (groups · grid height · grid width, channels · temporal · patch²) uint8 or bfloat16; the rows of a square are
        adjacent.
    """
    width_of_number = frames[0].itemsize
    channels, height, width = frames[0].shape
    groups = -(-len(frames) // temporal)
    down, across = height // (patch * merge), width // (patch * merge)
    run = np.dtype((np.void, patch * width_of_number))  # a patch's line moves as one element
    shape = (groups * down * merge * across * merge, channels * temporal * patch * patch)

    def write(out: memoryview) -> None:
        rows = np.frombuffer(out, run).reshape(groups, down, across, merge, merge, channels, temporal, patch)
        for index in range(groups * temporal):
            planes = np.ascontiguousarray(frames[min(index, len(frames) - 1)])
            lines = planes.view(run).reshape(channels, down, merge, patch, across, merge)
            rows[index // temporal, ..., index % temporal, :] = lines.transpose(1, 4, 2, 5, 0, 3)

    dtype = "uint8" if width_of_number == 1 else "bfloat16"
    return Tensor(dtype, shape, Deferred(shape[0] * shape[1] * width_of_number, write))


def bfloat16(values: NDArray[np.float32]) -> NDArray[np.uint16]:
    """Round float32 to bfloat16, ties to even; the bit patterns."""
    bits = np.ascontiguousarray(values).view(np.uint32)
    rounded: NDArray[np.uint16] = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    return rounded


def tensor(dtype: str, array: NDArray[np.generic]) -> Tensor:
    """The array as a tensor of that dtype name, without a copy when it is contiguous."""
    flat = np.ascontiguousarray(array)
    return Tensor(dtype, tuple(flat.shape), flat.data.cast("B") if flat.size else b"")
