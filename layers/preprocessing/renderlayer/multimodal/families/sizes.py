"""Arithmetic of image sizes that several families share; sizes are (height, width) throughout."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from renderlayer.errors import BadRequest

Size = tuple[int, int]

STEEPEST = 200
_MOST_PIXELS = 357_913_940  # of an image once resized or padded: 1 GiB of bytes
_MOST_VIDEO_PIXELS = 2 * _MOST_PIXELS  # of all frames
_MOST_TILES = 4096


def check_shape(height: int, width: int) -> None:
    """Refuse strips.

    Raises:
        BadRequest: one side is more than 200 times the other.
    """
    ratio = max(height, width) / min(height, width)
    if ratio > STEEPEST:
        raise BadRequest(f"absolute aspect ratio must be smaller than {STEEPEST}, got {ratio}")


def snapped(size: Size, factor: int, least: int, most: int, frames: int = 1, temporal: int = 1) -> Size:
    """The nearest size in multiples of `factor` that has `least` to `most` pixels, the shape nearly kept.

    Args:
        frames: how many frames of that size there are; the bounds are for all of them together.
        temporal: frames come in groups of so many.

    Raises:
        BadRequest: the image is a strip, or would become too large.
    """
    height, width = size
    check_shape(height, width)
    rows, columns = round(height / factor) * factor, round(width / factor) * factor
    groups = round(frames / temporal) * temporal
    if groups * rows * columns > most:
        shrink = math.sqrt(frames * height * width / most)
        rows = max(factor, math.floor(height / shrink / factor) * factor)
        columns = max(factor, math.floor(width / shrink / factor) * factor)
    elif groups * rows * columns < least:
        grow = math.sqrt(least / (frames * height * width))
        rows = math.ceil(height * grow / factor) * factor
        columns = math.ceil(width * grow / factor) * factor
    if frames * rows * columns > _MOST_VIDEO_PIXELS:
        raise BadRequest(f"A video may have at most {_MOST_VIDEO_PIXELS} pixels once resized.")
    return processable((rows, columns))


def processable(size: Size) -> Size:
    """A size that an image is about to take, unless a strip would become nothing, or all of the memory.

    Raises:
        BadRequest: it would.
    """
    if not min(size) > 0 or size[0] * size[1] > _MOST_PIXELS:
        raise BadRequest(f"the image's shape is too extreme: it would become {size[1]} by {size[0]} pixels")
    return size


def check_tiles(count: int) -> int:
    """The number of tiles, or their limit, if an image may be cut into as many.

    Raises:
        BadRequest: it may not.
    """
    if not 0 < count <= _MOST_TILES:
        raise BadRequest(f"An image is cut into 1 to {_MOST_TILES} tiles.", "mm_processor_kwargs")
    return count


def raised(size: Size, factor: int) -> Size:
    """The size, enlarged until both sides have `factor` pixels."""
    height, width = size
    if height < factor or width < factor:
        scale = max(factor / height, factor / width)
        return int(height * scale), int(width * scale)
    return size


def pixel_range(chosen: Mapping[str, Any], default: Mapping[str, int]) -> tuple[int, int]:
    """The least and the most pixels: from `size`, unless min_pixels and max_pixels are given.

    Raises:
        BadRequest: they are no positive numbers.
    """
    size = {**default, **(chosen.get("size") or {})}
    least, most = chosen.get("min_pixels") or size["shortest_edge"], chosen.get("max_pixels") or size["longest_edge"]
    if not all(isinstance(bound, (int, float)) and bound > 0 for bound in (least, most)):
        raise BadRequest("min_pixels and max_pixels must be positive numbers", "mm_processor_kwargs")
    return least, most


def target(size: Size, wanted: Mapping[str, int]) -> Size:
    """What a processor's `size` makes of an image: a fixed size, or a length for the shorter side."""
    if wanted.get("height") and wanted.get("width"):
        return wanted["height"], wanted["width"]
    height, width = size
    edge = wanted["shortest_edge"]
    if width <= height:
        return int(edge * height / width), edge
    return edge, int(edge * width / height)


def square(wanted: Mapping[str, int]) -> Size:
    """A processor's `size` as a fixed size; a single edge is a square."""
    if wanted.get("height") and wanted.get("width"):
        return wanted["height"], wanted["width"]
    return wanted["shortest_edge"], wanted["shortest_edge"]


def best_canvas(size: Size, canvases: Sequence[Sequence[int]]) -> Size:
    """Of several canvases the one on which an image keeps most of its pixels, and of those the smallest."""
    height, width = size
    best: tuple[float, float, Size] = 0, math.inf, (0, 0)
    for rows, columns in canvases:
        scale = min(columns / width, rows / height)
        kept = min(int(width * scale) * int(height * scale), width * height)
        wasted = rows * columns - kept
        if kept > best[0] or (kept == best[0] and wasted < best[1]):
            best = kept, wasted, (rows, columns)
    return best[2]


def fitted(size: Size, canvas: Size) -> Size:
    """The largest size of an image's shape within a canvas, rounded up."""
    (height, width), (rows, columns) = size, canvas
    across, down = columns / width, rows / height
    if across < down:
        return min(math.ceil(height * across), rows), columns
    return rows, min(math.ceil(width * down), columns)


@lru_cache(maxsize=16)
def tile_grids(least: int, most: int) -> tuple[tuple[int, int], ...]:
    """(across, down), the fewest tiles first; among as many tiles in a set's order, which is the reference's, too."""
    grids = [
        (across, down)
        for count in range(least, most + 1)
        for across in range(1, count + 1)
        for down in range(1, count + 1)
        if least <= across * down <= most
    ]
    return tuple(sorted(set(grids), key=lambda grid: grid[0] * grid[1]))
