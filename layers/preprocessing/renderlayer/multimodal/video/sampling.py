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
LONGEST = 300  # seconds of a video that is sampled at its rate
_LONGEST_COUNTED, _MOST_BY_LENGTH = 2400, 640
_RATES = ((30, 3.0), (300, 1.0), (_LONGEST_COUNTED, 0.5))  # up to so many seconds → frames a second
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


def by_seconds(source: Source, fps: float, longest: float) -> list[int]:
    """`fps` frames a second, each the first behind its time; evenly in videos longer than `longest` (GLM-4.1V)."""
    last = source.frames - 1
    duration = source.duration or (round(last / source.fps) + 1 if source.fps > 0 else 0)
    if duration <= longest:
        times = [index * source.fps / fps for index in range(math.floor(duration * fps))]
    elif (count := int(longest * fps)) >= source.frames:
        return list(range(source.frames))
    else:
        step = duration / (count - 1)
        times = [*(index * step * source.fps for index in range(count - 1)), duration * source.fps]
    return sorted({min(last, math.ceil(time)) for time in times})


def by_length(source: Source, temporal: int) -> list[int]:
    """3 frames a second or, in longer videos, fewer; `temporal` times as many, at most 640 (GLM-4.6V)."""
    total = source.frames
    duration = source.duration or (round((total - 1) / source.fps) + 1 if source.fps > 0 else 0)
    counted = min(duration, _LONGEST_COUNTED)
    rate = next(rate for limit, rate in _RATES if counted <= limit)
    count = min(int(counted * rate * temporal), _MOST_BY_LENGTH)
    chosen = spread(total, count, whole=True) if total < count else _in_time(source, 1 / (temporal * rate), duration)
    if len(chosen) < count:
        first, last = (chosen[0], chosen[-1]) if chosen else (0, max(total - 1, 0))
        chosen = [first + offset for offset in spread(last - first + 1, count, whole=True)]
    elif len(chosen) > count:
        chosen = spread(total, count, whole=True)
    return list(dict.fromkeys(chosen))


def _in_time(source: Source, step: float, duration: float) -> list[int]:
    """The first frame at or behind each multiple of `step` seconds, up to the last full second."""
    frame_seconds = 1 / source.fps if source.fps > 0 else 0
    chosen: list[int] = []
    due = 0.0
    for index in range(source.frames):
        if index * frame_seconds >= due:
            due += step
            chosen.append(index)
            if due >= int(duration):
                break
    return chosen


def _rate(source: Source) -> float:
    if source.fps <= 0:
        raise BadRequest("Failed to load video: its frame rate is variable or unknown")
    return source.fps


def spread(total: int, count: int, whole: bool = False) -> list[int]:
    """`count` positions from 0 to total − 1 at equal distances, cut (`whole`) or rounded to integers."""
    if count <= 1:
        return [0] * count
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
