"""The form of media parts (wire.md 4.1)."""

from __future__ import annotations

from typing import Any

import pytest

from renderlayer.errors import BadRequest
from renderlayer.render.content_parts import check_media_part

MALFORMED: tuple[dict[str, Any], ...] = (
    {"type": "image_url"},
    {"type": "image_url", "image_url": None},
    {"type": "image_url", "image_url": {}},
    {"type": "audio_url", "audio_url": "data:,"},
    {"type": "video_url"},
    {"type": "input_audio", "input_audio": {"data": ""}},
    {"type": "image_url", "image_url": {"url": "data:,", "detail": None}},
    {"type": "input_image", "image_url": "data:,"},
    {"type": "input_image", "image_url": "data:,", "detail": "x"},
)


@pytest.mark.parametrize("part", MALFORMED)
def test_a_media_part_without_its_payload_is_refused_without_a_parameter(part: dict[str, Any]) -> None:
    with pytest.raises(BadRequest, match=part["type"]) as caught:
        check_media_part(part)
    assert caught.value.param is None


def test_a_media_part_may_name_an_earlier_payload() -> None:
    check_media_part({"type": "image_url", "image_url": None, "uuid": "seen"})
    check_media_part({"type": "image_url", "image_url": {"url": "data:,", "detail": "low"}})
