"""Parts, counts and trust (wire.md 1.7, 4.1)."""

from __future__ import annotations

from typing import Any

import pytest

from renderlayer import multimodal
from renderlayer.bundle import Model
from renderlayer.errors import BadRequest
from renderlayer.multimodal import MediaItem, modality_of
from renderlayer.multimodal.items import url_of
from renderlayer.settings import Settings

PARTS: list[tuple[dict[str, Any], str | None, str | None]] = [
    ({"type": "image_url", "image_url": {"url": "u", "detail": "low"}}, "image", "u"),
    ({"type": "image_url", "image_url": "u"}, "image", "u"),
    ({"image_url": {"url": "u"}}, "image", "u"),
    ({"type": "image_url", "image_url": None}, "image", None),
    ({"type": "image_url", "image_url": {"url": ""}}, "image", None),
    ({"type": "input_image", "image_url": "u", "detail": "auto"}, "image", "u"),
    ({"type": "video_url", "video_url": {"url": "u"}}, "video", "u"),
    ({"type": "audio_url", "audio_url": {"url": "u"}}, "audio", "u"),
    ({"type": "input_audio", "input_audio": {"data": "QQ==", "format": "mp3"}}, "audio", "data:audio/mp3;base64,QQ=="),
    ({"input_audio": {"data": "QQ=="}}, "audio", "data:audio/wav;base64,QQ=="),
    ({"type": "input_audio", "input_audio": None}, "audio", None),
]


@pytest.mark.parametrize(("part", "modality", "url"), PARTS)
def test_parts(part: dict[str, Any], modality: str, url: str | None) -> None:
    assert modality_of(part) == modality
    assert url_of(MediaItem(modality, part)) == url


@pytest.mark.parametrize(
    "part",
    [
        {"type": "text", "text": "image_url"},
        {"text": "x"},
        {},
        "image_url",
        None,
        {"type": "input_file", "image_url": "u"},
    ],
)
def test_what_is_no_medium(part: Any) -> None:
    assert modality_of(part) is None


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url", "image_url": {}},
        {"type": "image_url", "image_url": {"url": 5}},
        {"type": "image_url", "image_url": ["u"]},
        {"type": "input_audio", "input_audio": "QQ=="},
        {"type": "input_audio", "input_audio": {}},
    ],
)
def test_malformed_payloads(part: dict[str, Any]) -> None:
    with pytest.raises(BadRequest):
        url_of(MediaItem("image", part))


def items(**counts: int) -> list[MediaItem]:
    return [MediaItem(name, {"type": f"{name}_url"}) for name, count in counts.items() for _ in range(count)]


@pytest.mark.parametrize(
    ("limit", "given", "refused"),
    [
        ({}, {"image": 40}, None),
        ({"image": 2}, {"image": 2}, None),
        ({"image": 2}, {"image": 3}, "At most 2 image"),
        ({"image": 0}, {"image": 1}, "At most 0 image"),
        ({"video": {"count": 1, "num_frames": 32}}, {"video": 2}, "At most 1 video"),
        ({"video": {"num_frames": 32}}, {"video": 2}, None),
        ({"audio": 5}, {"audio": 1}, "At most 0 audio"),
    ],
)
def test_counts(qwen: Model, limit: dict[str, Any], given: dict[str, int], refused: str | None) -> None:
    settings = Settings(limit_mm_per_prompt=limit)
    if refused is None:
        multimodal.check_counts(qwen, settings, items(**given))
        return
    with pytest.raises(BadRequest, match=refused) as caught:
        multimodal.check_counts(qwen, settings, items(**given))
    assert caught.value.param == next(iter(given))


def test_embeds_need_their_flag(qwen: Model) -> None:
    part = MediaItem("image", {"type": "image_embeds", "image_embeds": "x"})
    with pytest.raises(BadRequest, match="--enable-mm-embeds"):
        multimodal.check_counts(qwen, Settings(), [part])
    enabled = Settings(enable_mm_embeds=True)
    multimodal.check_counts(qwen, enabled, [part])
    with pytest.raises(BadRequest, match="Mixing"):
        multimodal.check_counts(qwen, enabled, [part, *items(image=1)])


@pytest.mark.parametrize("field", ["media_io_kwargs", "mm_processor_kwargs"])
def test_options_need_trust(field: str) -> None:
    options = {"media_io_kwargs": None, "mm_processor_kwargs": None, field: {"image": {}}}
    with pytest.raises(BadRequest, match="--trust-request-mm-kwargs") as caught:
        multimodal.check_trust(Settings(), **options)
    assert caught.value.param == field
    multimodal.check_trust(Settings(trust_request_mm_kwargs=True), **options)
    multimodal.check_trust(Settings(), None, {})


def test_placeholders(qwen: Model, model: Model) -> None:
    assert multimodal.placeholder(qwen, "video", 1) == "<|vision_start|><|video_pad|><|vision_end|>"
    with pytest.raises(BadRequest, match="At most 0 audio"):
        multimodal.placeholder(qwen, "audio", 1)
    with pytest.raises(BadRequest, match="At most 0 image"):
        multimodal.placeholder(model, "image", 1)


def test_promises(qwen: Model, model: Model) -> None:
    assert multimodal.promises(qwen) == {"image": "exact", "video": "exact"}
    assert multimodal.promises(model) == {}
