"""Requests about media of all shapes, made here without an imaging library so that they are the same everywhere."""

from __future__ import annotations

import base64
import hashlib
import itertools
import random
import struct
from collections.abc import Iterator
from typing import Any

from tests.multimodal.folders import Folder
from tests.multimodal.images import png
from tests.multimodal.test_recordings import comparable

Json = dict[str, Any]
_GREY, _RGB, _RGBA = 0, 2, 6
_CHANNELS = {_GREY: 1, _RGB: 3, _RGBA: 4}


def picture(width: int, height: int, seed: int = 0, kind: int = _RGB) -> bytes:
    """A PNG of noise over steps."""
    chance, channels = random.Random(f"{width}x{height}/{seed}"), _CHANNELS[kind]
    rows = []
    for y in range(height):
        base = (y * 255 // height, 255 - y * 255 // height, (y // 16 % 2) * 255, 255)
        noise = chance.randbytes(channels * width)
        rows.append(b"\x00" + bytes((level + base[x % channels]) // 2 for x, level in enumerate(noise)))
    return png(struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0), b"".join(rows))


def url(data: bytes, kind: str = "image/png") -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


def image(width: int, height: int, seed: int = 0, kind: int = _RGB) -> Json:
    return {"type": "image_url", "image_url": {"url": url(picture(width, height, seed, kind))}}


def video(count: int, width: int, height: int) -> Json:
    files = (base64.b64encode(picture(width, height, seed)).decode() for seed in range(count))
    return {"type": "video_url", "video_url": {"url": f"data:video/jpeg;base64,{','.join(files)}"}}


def sound(seconds: float, rate: int = 16_000) -> Json:
    chance = random.Random(rate)
    samples = b"".join(struct.pack("<h", chance.randrange(-9000, 9000)) for _ in range(int(seconds * rate)))
    head = struct.pack(
        "<4sI4s4sIHHIIHH4sI",
        b"RIFF",
        36 + len(samples),
        b"WAVE",
        b"fmt ",
        16,
        1,
        1,
        rate,
        2 * rate,
        2,
        16,
        b"data",
        len(samples),
    )
    return {"type": "audio_url", "audio_url": {"url": url(head + samples, "audio/wav")}}


def chat(*parts: Json, **more: Any) -> Json:
    return {"messages": [{"role": "user", "content": [*parts, {"type": "text", "text": "What is this?"}]}], **more}


def requests(folder: Folder) -> Iterator[tuple[str, Json]]:
    """(name, chat request)."""
    yield "text", {"messages": [{"role": "user", "content": "Hello there."}]}
    if "image" in folder.media:
        yield from _of_images(folder)
    if "video" in folder.media:
        yield from _of_videos()
    if "audio" in folder.media:
        for seconds in (0.3, 1.0, 3.1):
            yield f"sound-{seconds}", chat(sound(seconds))
    for modality in {"image", "video", "audio"} - {*folder.media}:
        part = {"image": image(30, 30), "video": video(2, 30, 30), "audio": sound(0.2)}[modality]
        yield f"{modality}-not-taken", chat(part)


def _of_images(folder: Folder) -> Iterator[tuple[str, Json]]:
    for width, height in folder.images:
        yield f"image-{width}x{height}", chat(image(width, height))
    first, second = itertools.islice(itertools.cycle(folder.images), 2)
    yield "image-none", chat(image(*first), mm_payload="none")
    yield "image-grey", chat(image(120, 90, 1, _GREY))
    yield "image-transparent", chat(image(120, 90, 2, _RGBA))
    yield "image-two", chat(image(*first), image(*second, 3))
    yield "image-three-none", chat(*(image(60 + seed, 60, seed) for seed in range(3)), mm_payload="none")
    yield "image-uuid", chat({**image(*first), "uuid": "mine"}, mm_payload="none")
    turns = [
        {"role": "user", "content": [{"type": "text", "text": "First"}, image(*second)]},
        {"role": "assistant", "content": "Yes"},
        {"role": "user", "content": [image(*first), {"type": "text", "text": "and this?"}]},
    ]
    yield "image-turns", {"messages": turns, "mm_payload": "none"}
    for number, given in enumerate(folder.options):
        yield f"image-options-{number}", chat(image(*second), mm_processor_kwargs=given)
    yield "image-strip", chat(image(900, 3))
    yield "image-dot", chat(image(1, 1))


def _of_videos() -> Iterator[tuple[str, Json]]:
    for count in (1, 2, 5):
        yield f"video-{count}", chat(video(count, 90, 62))
    yield "video-large", chat(video(3, 500, 333))
    yield "video-none", chat(video(6, 64, 90), mm_payload="none")
    timed = {"video": {"fps": 2, "total_num_frames": 12, "frames_indices": [0, 3, 6, 9]}}
    yield "video-timed", chat(video(4, 90, 62), media_io_kwargs=timed)


def kept(status: int, answer: Json) -> Json:
    """What is kept of an answer: ids in runs, ranges, hashes, a digest of each tensor; of an error type and param."""
    if status != 200:
        return {"status": status, "error": [answer["error"].get(key) for key in ("type", "param")]}
    runs = [[token, len(list(group))] for token, group in itertools.groupby(answer["token_ids"])]
    if answer["features"] is None:
        return {"status": status, "tokens": runs}
    features = comparable(answer)["features"]
    tensors = {name: _digests(features[name]) for name in ("kwargs_data", "mm_metadata")}
    whole = {name: features[name] for name in ("mm_hashes", "mm_placeholders")}
    return {"status": status, "tokens": runs, **whole, **tensors}


def _digests(items: Json | None) -> Json | None:
    if items is None:
        return None
    return {
        modality: [{name: _digest(value) for name, value in sorted((item or {}).items())} for item in each]
        for modality, each in items.items()
        if any(each)
    }


def _digest(value: Any) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()[:16]
