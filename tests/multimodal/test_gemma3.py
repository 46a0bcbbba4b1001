"""Gemma 3: squares, pan and scan, and newlines that merge."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import msgpack
import pytest

from renderlayer import multimodal
from renderlayer.bundle import Model
from renderlayer.multimodal import MediaItem
from renderlayer.multimodal.families.gemma3 import crops
from renderlayer.settings import Settings
from tests.multimodal.images import data_url, encoded, picture

TOKENS = ("<start_of_image>", "<end_of_image>", "<image_soft_token>", "\n", "\n\n", "\n\n\n", "\n\n\n\n")
FILES: dict[str, dict[str, Any]] = {
    "preprocessor_config": {"size": {"height": 56, "width": 56}, "do_pan_and_scan": None, "image_mean": [0.5] * 3},
    "processor_config": {"image_seq_length": 3},
}
SETTINGS = Settings(model="gemma")


@pytest.fixture(scope="module")
def gemma(make_model: Callable[..., Model]) -> Model:
    return make_model("gemma3", TOKENS, FILES)


def apply(gemma: Model, text: str, sizes: list[tuple[int, int]], **options: Any) -> tuple[str, dict[str, Any]]:
    items = [
        MediaItem("image", {"type": "image_url", "image_url": {"url": data_url(encoded(picture(*size)))}})
        for size in sizes
    ]
    ids = gemma.tokenizer.encode(text)
    expanded = multimodal.apply(gemma, SETTINGS, ids, items, **options)
    return gemma.tokenizer.decode(expanded.token_ids, skip_special_tokens=False), expanded.features


SQUARE = "<start_of_image>" + "<image_soft_token>" * 3 + "<end_of_image>"


def test_an_image_stands_between_blank_lines(gemma: Model) -> None:
    text, features = apply(gemma, "user\n<start_of_image>say", [(40, 30)])
    assert text == f"user\n\n\n{SQUARE}\n\nsay"
    begin = text_tokens(gemma, "user") + 2
    assert features["mm_placeholders"]["image"] == [{"offset": begin, "length": 3}], "only what receives embeddings"


def test_neighbours_share_their_newlines(gemma: Model) -> None:
    text, features = apply(gemma, "<start_of_image><start_of_image>", [(40, 30)] * 2)
    assert text == f"\n\n{SQUARE}\n\n\n\n{SQUARE}\n\n"
    assert features["mm_placeholders"]["image"] == [{"offset": 2, "length": 3}, {"offset": 8, "length": 3}]


def test_pan_and_scan(gemma: Model) -> None:
    options = {"do_pan_and_scan": True, "pan_and_scan_min_crop_size": 20}
    text, features = apply(gemma, "<start_of_image>", [(90, 30)], mm_processor_kwargs=options)
    here = "Here is the original image \n\n" + SQUARE + "\n\n and here are some crops to help you see better "
    assert text == here + " ".join([f"\n\n{SQUARE}\n\n"] * 3)
    (place,) = features["mm_placeholders"]["image"]
    assert sum(place["is_embed"]) == 4 * 3, "four squares with text between them cannot be one range"
    item = msgpack.unpackb(base64.b64decode(features["kwargs_data"]["image"][0]))
    assert item["pixel_values"]["data"][:2] == ["bfloat16", [4, 3, 56, 56]]
    assert item["num_patches"]["data"][2].data == (4).to_bytes(8, "little")


@pytest.mark.parametrize(
    ("size", "boxes"),
    [
        ((1000, 1000), []),
        ((1100, 1000), []),
        ((1200, 400), [(0, 0, 400, 400), (400, 0, 800, 400), (800, 0, 1200, 400)]),
        ((400, 901), [(0, 0, 400, 451), (0, 451, 400, 901)]),
        ((3000, 300), [(0, 0, 750, 300), (750, 0, 1500, 300), (1500, 0, 2250, 300), (2250, 0, 3000, 300)]),
        ((500, 100), []),
    ],
)
def test_crops(size: tuple[int, int], boxes: list[tuple[int, int, int, int]]) -> None:
    chosen = {
        "pan_and_scan_min_crop_size": 256,
        "pan_and_scan_max_num_crops": 4,
        "pan_and_scan_min_ratio_to_activate": 1.2,
    }
    assert crops(*size, chosen) == boxes


def text_tokens(gemma: Model, text: str) -> int:
    return len(gemma.tokenizer.encode(text))
