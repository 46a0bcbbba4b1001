"""Which frames of a video a model sees; numpy-free, bit for bit the reference's choice (wire.md 4.3)."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from renderlayer.errors import BadRequest

FPS, LEAST, MOST = 2, 4, 768
_FASTEST = 30  # frames a second
_FRAMES = 32
_BLOCK = 8  # floats that a vector holds in the reference's `arange`; it works on two vectors at a time


@dataclass(frozen=True)
class Source:
    """What a container says of its video: frames, frames a second (0 if unknown), seconds."""

    frames: int
    fps: float
    duration: float


def uniform(source: Source, options: Mapping[str, Any]) -> list[int]:
    """`num_frames` frames spread evenly, or `fps` frames a second if these are fewer."""
    count, most, fps = source.frames, options.get("num_frames", _FRAMES), options.get("fps", -1)
    if most > 0:
        count = min(most, count)
    if fps > 0:
        count = min(count, math.floor(source.duration * fps))
    return spread(source.frames, max(count, 1), whole=True)


def by_rate(source: Source, options: Mapping[str, Any]) -> list[int]:
    """`fps` frames a second, 4 to 768 of them, the first and the last among them (Qwen3-VL)."""
    count = int(source.frames / _rate(source) * min(options.get("fps", FPS), _FASTEST))
    most = min(options.get("max_frames", MOST), MOST)
    return spread(source.frames, min(max(count, options.get("min_frames", LEAST)), most, source.frames))


def by_rate_in_pairs(source: Source, options: Mapping[str, Any]) -> list[int]:
    """`fps` frames a second, 4 to 768 of them, an even number, from the first on at equal steps (Qwen2-VL)."""
    pair = options.get("temporal_patch_size", 2)
    most = math.floor(min(options.get("max_frames", MOST), source.frames) / pair) * pair
    count = source.frames / _rate(source) * options.get("fps", FPS)
    count = math.floor(min(max(count, options.get("min_frames", LEAST)), most, source.frames) / pair) * pair
    if not count:
        raise BadRequest(f"Failed to load video: it needs at least {pair} frames")
    return [min(index, source.frames - 1) for index in steps(source.frames, source.frames / count)]


def _rate(source: Source) -> float:
    if source.fps <= 0:
        raise BadRequest("Failed to load video: its frame rate is variable or unknown")
    return source.fps


def spread(total: int, count: int, whole: bool = False) -> list[int]:
    """`count` positions from 0 to total − 1 at equal distances, cut (`whole`) or rounded to integers."""
    if count == 1:
        return [0]
    step = (total - 1) / (count - 1)
    exact = [*(index * step for index in range(count - 1)), float(total - 1)]
    return [int(position) if whole else round(position) for position in exact]


def steps(end: int, step: float) -> list[int]:
    """0, step, 2 · step … below `end`, computed and cut as the reference does in single precision."""
    count = math.ceil(end / step)
    vectors = count // (2 * _BLOCK) * (2 * _BLOCK)
    values: list[float] = []
    for begin in range(0, vectors, _BLOCK):
        base = _single(step * begin)
        values += [_single(base + lane * step) for lane in range(_BLOCK)]
    values += [_single(step * index) for index in range(vectors, count)]
    return [int(value) for value in values]


def _single(value: float) -> float:
    rounded: float = struct.unpack("f", struct.pack("f", value))[0]
    return rounded
