"""Image files that cost far more than they weigh: processor time and memory stay within bounds."""

from __future__ import annotations

from typing import Any

import pytest

from renderlayer.memory import available
from renderlayer.multimodal.image.picture import ImageIO, open_picture
from renderlayer.settings import Settings
from tests.hostile import images
from tests.hostile.child import spent

pytestmark = pytest.mark.long
MOST_SECONDS = 1.0
"""Processor time of any header, however long; most take a twentieth of it."""
MOST_BYTES_A_PIXEL = 20
WORKER = 48 << 20
SIDE = 4200
"""Of squares that are beyond what is decoded in the server's own process where it cannot be stopped."""


def pixels(data: bytes, options: dict[str, Any]) -> tuple[int, int]:
    """Open and decode."""
    picture = open_picture(data, ImageIO(), Settings(**options))
    return picture.rgb().size


@pytest.mark.parametrize("name", images.SIZED)
def test_headers_are_read_in_bounded_time(name: str) -> None:
    costs = [spent(pixels, images.SIZED[name](megabytes << 20), {}) for megabytes in (1, 2, 4, 8)]
    assert all(cost.status == 400 and "Failed to load image" in cost.outcome for cost in costs)
    assert max(cost.seconds for cost in costs) < MOST_SECONDS
    assert max(cost.memory for cost in costs) < WORKER + (16 << 20)


@pytest.mark.parametrize("count", [200, 3000, 100_000])
def test_scans_are_counted(count: int) -> None:
    cost = spent(pixels, images.scans(count), {})
    assert (cost.status, cost.outcome) == (400, "Failed to load image: it has more than 100 scans")
    assert cost.seconds < MOST_SECONDS


def test_scans_behind_many_segments_are_counted() -> None:
    data = images.scans(3000)
    hidden = data[:2] + b"\xff\xfe\x00\x02" * 20_000 + data[2:]
    assert spent(pixels, hidden, {}).status == 400


def test_scans_that_encoders_write_are_taken() -> None:
    assert spent(pixels, images.scans(60), {}).status == 200
    quoted = images.jpeg(64)
    quoted = quoted[:2] + b"\xff\xfe\x10\x02" + b"\xff\xda" * 2048 + quoted[2:]  # a comment, not scans
    assert spent(pixels, quoted, {}).outcome == (64, 64)


@pytest.mark.parametrize("form", images.SQUARES)
def test_memory_is_in_proportion_to_pixels(form: str) -> None:
    cost = spent(pixels, images.SQUARES[form](SIDE), {})
    assert (cost.status, cost.outcome) == (200, (SIDE, SIDE))
    assert cost.memory < 1.2 * MOST_BYTES_A_PIXEL * SIDE * SIDE + WORKER


@pytest.mark.parametrize("form", images.SQUARES)
def test_decoding_is_given_up_when_its_time_is_over(form: str) -> None:
    cost = spent(pixels, images.SQUARES[form](SIDE), {"media_decode_seconds": 0.01})
    assert (cost.status, cost.outcome) == (400, "Failed to load image: decoding takes more than 0.01 seconds")


@pytest.mark.parametrize("form", images.SQUARES)
def test_rare_formats_get_no_more_memory_than_there_is(form: str) -> None:
    cost = spent(pixels, images.SQUARES[form](SIDE), {"media_memory_bytes": 32 << 20})
    if form in ("jpeg2000", "tiff"):
        assert cost.status == 400 and "need about" in cost.outcome
    assert cost.memory < available()
