"""What image processors do with one picture: resize, crop, pad, cut into tiles, normalise.

Until the last step everything is bytes of shape (channels, height, width); then bfloat16, as the engine's models take.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from PIL.Image import Image as PillowImage

from renderlayer.multimodal.arrays import Planes, bfloat16, tensor
from renderlayer.multimodal.image.picture import Picture
from renderlayer.multimodal.image.resize import FILTERS, Filter, resize
from renderlayer.multimodal.tensor import Tensor

Raster = NDArray[np.uint8]  # (height, width, channels)
Entry = TypeVar("Entry", np.uint16, np.float32)
Pixel = TypeVar("Pixel", np.uint8, np.float32)

_LEVELS = np.arange(256, dtype=np.float32)


@dataclass(frozen=True)
class Recipe:
    """The part of an image processor's configuration that pixels depend on.

    Args:
        method: the resampling filter.
        rescale: factor from bytes to the unit range, None to leave it out.
        mean, std: per channel, in the unit range; None to leave normalising out.
        fused: scale mean and std to the range of bytes first, as the reference's own processors do; else divide first.
    """

    method: Filter
    rescale: float | None
    mean: tuple[float, ...] | None
    std: tuple[float, ...] | None
    fused: bool = True

    @classmethod
    def of(cls, chosen: Mapping[str, Any]) -> Recipe:
        """Read preprocessor options, in which every key that matters is set."""
        normalise = chosen["do_normalize"]
        return cls(
            FILTERS[int(chosen["resample"])],
            float(chosen["rescale_factor"]) if chosen["do_rescale"] else None,
            tuple(chosen["image_mean"]) if normalise else None,
            tuple(chosen["image_std"]) if normalise else None,
        )


def raster(picture: Picture) -> Raster:
    """The decoded picture in RGB."""
    return np.asarray(picture.rgb())


def scaled(image: Raster, size: tuple[int, int], recipe: Recipe) -> Planes:
    """The image at a new (height, width)."""
    return resize(image, *size, recipe.method)


def planes(image: PillowImage) -> Planes:
    """A Pillow image in RGB as planes."""
    return np.ascontiguousarray(np.asarray(image).transpose(2, 0, 1))


def centred(planes: Planes, size: tuple[int, int]) -> Planes:
    """The middle (height, width); what sticks out of the image is black."""
    (_, height, width), (new_height, new_width) = planes.shape, size
    down, across = max(new_height - height, 0), max(new_width - width, 0)
    if down or across:
        planes = padded(planes, (down // 2, across // 2), (height + down, width + across))
        _, height, width = planes.shape
    top, left = (height - new_height) // 2, (width - new_width) // 2
    return planes[:, top : top + new_height, left : left + new_width]


def padded(planes: Planes, corner: tuple[int, int], size: tuple[int, int], fill: int | Sequence[int] = 0) -> Planes:
    """The image on a canvas of (height, width), its upper left at `corner` (top, left)."""
    channels, height, width = planes.shape
    canvas = np.empty((channels, *size), np.uint8)
    canvas[:] = np.reshape(fill, (-1, 1, 1))
    canvas[:, corner[0] : corner[0] + height, corner[1] : corner[1] + width] = planes
    return canvas


def tiles(planes: NDArray[Pixel], size: tuple[int, int]) -> NDArray[Pixel]:
    """Cut into tiles of (height, width), row by row: (count, channels, height, width)."""
    channels, height, width = planes.shape
    rows, columns = height // size[0], width // size[1]
    cut = planes.reshape(channels, rows, size[0], columns, size[1]).transpose(1, 3, 0, 2, 4)
    return np.ascontiguousarray(cut).reshape(rows * columns, channels, *size)


def finished(planes: Planes, recipe: Recipe) -> Tensor:
    """Rescaled, normalised, as a bfloat16 tensor of the same shape (…, channels, height, width).

    A byte has 256 values, so each channel is a table; the table's arithmetic is that of the reference, in float32.
    """
    return tensor("bfloat16", lookup(planes, tables(recipe, planes.shape[-3])))


def tables(recipe: Recipe, channels: int) -> list[NDArray[np.uint16]]:
    """For each channel the bfloat16 bit patterns of the 256 levels."""
    return [bfloat16(values) for values in _values(recipe, channels)]


def normalised(planes: Planes, recipe: Recipe) -> NDArray[np.float32]:
    """As `finished`, in float32, for what is computed further."""
    return lookup(planes, _values(recipe, planes.shape[-3]))


def _values(recipe: Recipe, channels: int) -> list[NDArray[np.float32]]:
    """For each channel what becomes of the 256 levels, in the arithmetic of the reference."""
    levels, rescale = _LEVELS, recipe.rescale
    if recipe.mean is None or recipe.std is None:
        return [levels * np.float32(rescale) if rescale is not None else levels] * channels
    factor = np.float32(1.0)
    if rescale is not None and recipe.fused:
        factor = np.float32(1.0 / rescale)
    elif rescale is not None:
        levels = levels / np.float32(1.0 / rescale)
    return [
        (levels - np.float32(center) * factor) / (np.float32(spread) * factor)
        for center, spread in zip(recipe.mean, recipe.std, strict=True)
    ]


def tables_in_bfloat16(recipe: Recipe, channels: int) -> list[NDArray[np.uint16]]:
    """As `tables`, every step rounded to bfloat16, for models whose processors compute in it."""
    levels = _rounded(_LEVELS)
    if recipe.rescale is not None:
        levels = _rounded(levels * np.float32(recipe.rescale))
    if recipe.mean is None or recipe.std is None:
        return [bfloat16(levels)] * channels
    return [
        bfloat16(_rounded(levels - _rounded(np.float32(center))) / _rounded(np.float32(spread)))
        for center, spread in zip(recipe.mean, recipe.std, strict=True)
    ]


def _rounded(values: NDArray[np.float32] | np.float32) -> NDArray[np.float32]:
    """The nearest bfloat16 numbers, in float32."""
    bits = bfloat16(np.atleast_1d(np.asarray(values, np.float32))).astype(np.uint32) << 16
    return bits.view(np.float32)


def lookup(planes: Planes, by_channel: Sequence[NDArray[Entry]]) -> NDArray[Entry]:
    """Each byte replaced by its channel's entry."""
    out = np.empty(planes.shape, by_channel[0].dtype)
    for channel, table in enumerate(by_channel):
        np.take(table, planes[..., channel, :, :], out=out[..., channel, :, :])
    return out
