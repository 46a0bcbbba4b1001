"""Requests with images, many at a time: one budget of memory for all of them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from renderlayer import multimodal
from renderlayer.bundle import Model, open_bundle
from renderlayer.errors import RenderLayerError
from renderlayer.memory import media_budget
from renderlayer.multimodal import MediaItem
from renderlayer.settings import Settings
from tests.hostile import images
from tests.hostile.child import spent
from tests.multimodal.images import data_url

pytestmark = pytest.mark.long
BUDGET = 400 << 20
LIBRARIES = 450 << 20
"""Bytes that the imports of the pixels' path and threads may take, torch among them."""
SIDES = range(2500, 2512)


def at_once(bundle: Path, form: str) -> list[int]:
    """The statuses of twelve requests that come at the same time, each with an image of its own."""
    model = open_bundle(bundle)
    settings = Settings(model="seeing", media_memory_bytes=BUDGET)
    files = [images.SQUARES[form](side) for side in SIDES]
    with ThreadPoolExecutor(len(files)) as pool:
        statuses = list(pool.map(lambda data: status(model, settings, data), files))
    assert media_budget(BUDGET).held == 0
    return statuses


def status(model: Model, settings: Settings, data: bytes) -> int:
    item = MediaItem("image", {"type": "image_url", "image_url": {"url": data_url(data)}})
    ids = model.tokenizer.encode("<|vision_start|><|image_pad|><|vision_end|>")
    try:
        multimodal.apply(model, settings, ids, [item])
    except RenderLayerError as error:
        return error.status
    return 200


def test_images_of_many_requests_share_the_memory(seeing: Path) -> None:
    cost = spent(at_once, seeing, "webp")
    assert cost.status == 200, cost
    assert set(cost.outcome) <= {200, 503} and 200 in cost.outcome
    assert cost.memory < 1.6 * BUDGET + LIBRARIES  # without the budget 2.5 times it


def test_what_can_never_fit_is_refused(seeing: Path) -> None:
    cost = spent(huge, seeing)
    assert (cost.status, cost.outcome) == (200, [400] * 4)
    assert cost.memory < LIBRARIES


def huge(bundle: Path) -> list[int]:
    """The statuses of images that claim 169 million pixels in some bytes."""
    model, settings = open_bundle(bundle), Settings(model="seeing", media_memory_bytes=BUDGET)
    return [
        status(model, settings, claimed(images.SQUARES[form](64), 13_000)) for form in ("webp", "gif", "png", "jpeg")
    ]


def claimed(data: bytes, side: int) -> bytes:
    """The file with another size in its header."""
    if data.startswith(b"GIF"):
        return data[:6] + side.to_bytes(2, "little") * 2 + data[10:]
    if data.startswith(b"RIFF"):
        bits = int.from_bytes(data[21:25], "little") >> 28 << 28
        return data[:21] + (bits | (side - 1) << 14 | (side - 1)).to_bytes(4, "little") + data[25:]
    if data.startswith(b"\x89PNG"):
        return data[:16] + side.to_bytes(4, "big") * 2 + data[24:]
    at = data.index(b"\xff\xc2") + 5
    return data[:at] + side.to_bytes(2, "big") * 2 + data[at + 4 :]
