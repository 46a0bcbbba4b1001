"""Families whose processors come with the model and resize with Pillow, against their arithmetic written out."""

from __future__ import annotations

import base64
from collections.abc import Callable
from io import BytesIO
from typing import Any

import numpy as np
import pytest
from blake3 import blake3
from numpy.typing import NDArray
from PIL import Image, ImageOps

from renderlayer import multimodal
from renderlayer.bundle import Model
from renderlayer.errors import BadRequest
from renderlayer.multimodal import MediaItem
from renderlayer.multimodal.families import build
from renderlayer.multimodal.families.base import Facts
from renderlayer.multimodal.image.picture import ImageIO, Picture, open_picture
from renderlayer.multimodal.image.smooth import _resized, resize_float
from renderlayer.settings import Settings
from tests.multimodal.images import data_url, encoded, picture
from tests.multimodal.processed import Words

RESOLUTIONS = [[384, 384], [384, 768], [768, 384], [384, 1152], [1152, 384], [768, 768]]


def opened(width: int, height: int) -> Picture:
    return open_picture(encoded(picture(width, height)), ImageIO())


def values(field: Any) -> NDArray[np.float32]:
    tensor = field.value
    bits = np.frombuffer(tensor.content(), np.uint16).astype(np.uint32) << 16
    return bits.view(np.float32).reshape(tensor.shape)


def scaled(image: Image.Image) -> NDArray[np.float32]:
    """To [−1, 1], as a chain of division, subtraction and division does."""
    unit = np.asarray(image, np.float32).transpose(2, 0, 1) / np.float32(255)
    return (unit - np.float32(0.5)) / np.float32(0.5)


def frame(data: bytes) -> bytes:
    return len(data).to_bytes(8, "little") + data


def npy(array: NDArray[np.float32]) -> str:
    buffer = BytesIO()
    np.save(buffer, array)
    return base64.b64encode(buffer.getvalue()).decode()


def near(ours: NDArray[np.float32], expected: NDArray[np.float32]) -> bool:
    """Equal once rounded to bfloat16, which has eight significant bits."""
    return bool(np.all(np.abs(ours - expected) <= np.abs(expected) * 2.0**-8))


def deepseek(**config: Any) -> Any:
    given = {"model_type": "deepseek_vl_v2", "candidate_resolutions": RESOLUTIONS, **config}
    return build(Facts(given, {}, {}, {}, {}, Words()))


@pytest.mark.parametrize(("size", "tiles"), [((500, 333), (2, 1)), ((300, 900), (1, 3)), ((384, 380), (1, 1))])
def test_deepseek_vl2(size: tuple[int, int], tiles: tuple[int, int]) -> None:
    shown = opened(*size)
    plan = deepseek().plan("image", shown, {})
    columns, rows = tiles
    assert len(plan.replacement) == 14 * 15 + 1 + rows * 14 * (columns * 14 + 1)
    fields = plan.fields()
    assert memoryview(fields["images_spatial_crop"].value.data).cast("q").tolist() == [columns, rows]
    spread = ImageOps.pad(shown.decode(), (384 * columns, 384 * rows), color=(127, 127, 127))
    parts = [ImageOps.pad(shown.decode(), (384, 384), color=(127, 127, 127))]
    parts += [
        spread.crop((384 * x, 384 * y, 384 * (x + 1), 384 * (y + 1))) for y in range(rows) for x in range(columns)
    ]
    assert near(values(fields["pixel_values"]), np.stack([scaled(part) for part in parts]))


def test_deepseek_vl2_does_not_tile_many_images() -> None:
    family = deepseek()
    assert family.for_item_count(2) is family
    plan = family.for_item_count(3).plan("image", opened(500, 333), {})
    assert len(plan.replacement) == 14 * 15 + 1 + 14 * 15


def test_deepseek_vl2_hashes_with_what_tiling_depends_on(make_model: Callable[..., Model]) -> None:
    """One image has two payloads, and so two hashes; a uuid is no exception, embeddings are."""
    model = make_model("deepseek_vl_v2", ("<image>",), {}, candidate_resolutions=RESOLUTIONS)
    url = data_url(encoded(picture(500, 333)))
    item = MediaItem("image", {"type": "image_url", "image_url": {"url": url}}, "mine")

    def hashes(count: int) -> set[str]:
        ids = model.tokenizer.encode("<image>" * count)
        made = multimodal.apply(model, Settings(model="m"), ids, [item] * count, payload="none")
        return set(made.features["mm_hashes"]["image"])

    def expected(tiled: bytes) -> str:
        parts = (b"cropping", b"\x03", tiled), (b"mm_hash", b"\x03", b"mine")
        stream = b"".join(frame(key) + kind + frame(value) for key, kind, value in parts)
        return str(blake3(stream).hexdigest())

    assert hashes(1) == hashes(2) == {expected(b"\x01")}
    assert hashes(3) == {expected(b"\x00")}
    embeds = MediaItem("image", {"type": "image_embeds", "image_embeds": npy(np.zeros((421, 8), np.float32))}, "mine")
    enabled = Settings(model="m", enable_mm_embeds=True)
    made = multimodal.apply(model, enabled, model.tokenizer.encode("<image>"), [embeds], payload="none")
    assert made.features["mm_hashes"]["image"] == ["mine"]


def kimi(**options: Any) -> Any:
    given = {"image_mean": [0.5] * 3, "image_std": [0.5] * 3, **options}
    return build(Facts({"model_type": "kimi_vl"}, given, {}, {}, {}, Words()))


@pytest.mark.parametrize(
    ("size", "options", "grid"),
    [
        ((300, 200), {}, (14, 20)),
        ((300, 200), {"pad_input": True}, (16, 22)),
        ((2000, 1500), {}, (54, 74)),
        ((2000, 1500), {"in_token_limit": 1024}, (26, 36)),
    ],
)
def test_kimi_vl(size: tuple[int, int], options: dict[str, Any], grid: tuple[int, int]) -> None:
    shown = opened(*size)
    plan = kimi(**options).plan("image", shown, {})
    assert len(plan.replacement) == grid[0] * grid[1] // 4
    fields = plan.fields()
    assert memoryview(fields["image_grid_hws"].value.data).cast("q").tolist() == list(grid)
    ours = values(fields["pixel_values"])
    assert ours.shape == (grid[0] * grid[1], 3, 14, 14)
    image = shown.decode()
    limit = options.get("in_token_limit", 4096)
    patches = (image.width // 14) * (image.height // 14)
    if patches > limit:
        scale = (limit / patches) ** 0.5
        image = image.resize((int(image.width * scale), int(image.height * scale)), Image.Resampling.BICUBIC)
    width, height = 14 * grid[1], 14 * grid[0]
    if options.get("pad_input"):
        canvas = Image.new("RGB", (width, height))
        canvas.paste(image, (0, 0))
    else:
        left, top = (image.width - width) // 2, (image.height - height) // 2
        canvas = image.crop((left, top, left + width, top + height))
    expected = scaled(canvas).reshape(3, grid[0], 14, grid[1], 14).transpose(1, 3, 0, 2, 4).reshape(-1, 3, 14, 14)
    assert near(ours, expected)


def test_kimi_vl_refuses_what_has_no_positions() -> None:
    for size in ((20, 20), (9000, 40)):
        with pytest.raises(BadRequest):
            kimi().plan("image", opened(*size), {})


def test_floating_point_resizing_without_torch_is_close() -> None:
    pytest.importorskip("torch")
    planes = np.random.default_rng(0).normal(size=(3, 60, 90)).astype(np.float32)
    for size in ((448, 448), (20, 200), (60, 90)):
        without = _resized(_resized(planes, size[0], 1), size[1], 2)
        assert np.abs(without - resize_float(planes, size)).max() < 1e-4
