"""From a prompt and its media to expanded ids and features, on a small model of the Qwen3-VL family."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from typing import Any

import msgpack
import pytest
from blake3 import blake3

from renderlayer import multimodal
from renderlayer.bundle import Model
from renderlayer.errors import BadRequest
from renderlayer.multimodal import MediaItem, Slot
from renderlayer.multimodal.wire.serialize import pack_item
from renderlayer.settings import Settings
from tests.multimodal.images import data_url, encoded, kinds, picture

SETTINGS = Settings(model="small", model_id_for_hash="small")
UNIT = "<|vision_start|><|image_pad|><|vision_end|>"
PNG = encoded(picture(96, 64))


def image(data: bytes | None = PNG, uuid: str | None = None) -> MediaItem:
    part = {"type": "image_url", "image_url": {"url": data_url(data)} if data else None}
    return MediaItem("image", part, uuid)


def prompt(model: Model, text: str) -> list[int]:
    return model.tokenizer.encode(text)


def test_one_image(qwen: Model) -> None:
    ids = prompt(qwen, f"a{UNIT}b")
    expanded = multimodal.apply(qwen, SETTINGS, ids, [image()])
    pad = qwen.vocabulary.id_of("<|image_pad|>")
    at = ids.index(pad)
    assert expanded.token_ids == [*ids[:at], *[pad] * 70, *ids[at + 1 :]]
    features = expanded.features
    assert list(features) == ["mm_hashes", "mm_placeholders", "kwargs_data", "mm_metadata"]
    assert features["mm_placeholders"] == {"image": [{"offset": at, "length": 70}]}
    item = unpacked(features["kwargs_data"]["image"][0])
    dtype, shape, raw = item["pixel_values"]["data"]
    assert (dtype, shape, len(raw.data)) == ("uint8", [280, 1536], 280 * 1536)
    assert unpacked(features["mm_metadata"]["image"][0]) == {"image_grid_thw": item["image_grid_thw"]}


def test_no_payload_is_the_same_layout(qwen: Model) -> None:
    ids = prompt(qwen, UNIT)
    full = multimodal.apply(qwen, SETTINGS, ids, [image()])
    bare = multimodal.apply(qwen, SETTINGS, ids, [image()], payload="none")
    assert bare.token_ids == full.token_ids
    assert bare.features == {**full.features, "kwargs_data": None, "mm_metadata": None}


@pytest.mark.parametrize(("name", "data"), list(kinds()))
def test_every_kind_of_image(qwen: Model, name: str, data: bytes) -> None:
    """The layout from the header fits the pixels, and the bytes do not depend on what stands beside the image."""
    ids = prompt(qwen, UNIT * 2)
    alone = multimodal.apply(qwen, SETTINGS, ids[:3], [image(data)]).features
    beside = multimodal.apply(qwen, SETTINGS, ids, [image(), image(data)]).features
    assert beside["kwargs_data"]["image"][1] == alone["kwargs_data"]["image"][0]
    assert beside["mm_hashes"]["image"][1] == alone["mm_hashes"]["image"][0]
    item = unpacked(alone["kwargs_data"]["image"][0])
    grid = memoryview(item["image_grid_thw"]["data"][2].data).cast("q")
    assert item["pixel_values"]["data"][1][0] == grid[0] * grid[1] * grid[2]
    assert alone["mm_placeholders"]["image"][0]["length"] == grid[0] * grid[1] * grid[2] // 4


def test_equal_images_are_computed_once(qwen: Model) -> None:
    computed: list[str] = []

    def write(slot: Slot) -> str:
        computed.append(slot.mm_hash)
        return f"s3://bucket/{slot.fingerprint}/{slot.mm_hash}"

    other = encoded(picture(64, 64, seed=1))
    ids = prompt(qwen, UNIT * 3)
    features = multimodal.apply(qwen, SETTINGS, ids, [image(), image(other), image()], write=write).features
    assert len(computed) == 2
    slots = features["kwargs_data"]["image"]
    assert slots[0] == slots[2] != slots[1]
    assert features["mm_metadata"]["image"][0] == features["mm_metadata"]["image"][2]


def test_a_writer_gets_what_the_slot_would_hold(qwen: Model) -> None:
    slots: list[Slot] = []

    def write(slot: Slot) -> str:
        slots.append(slot)
        return "elsewhere"

    ids = prompt(qwen, UNIT)
    multimodal.apply(qwen, SETTINGS, ids, [image()], write=write)
    inline = multimodal.apply(qwen, SETTINGS, ids, [image()]).features["kwargs_data"]["image"][0]
    assert base64.b64encode(slots[0].compute()).decode() == inline
    assert (slots[0].modality, slots[0].length) == ("image", 70)


def test_fingerprints_tell_payloads_apart(qwen: Model) -> None:
    """Whatever changes the bytes changes the address: options, and the content behind a uuid."""

    def address(item: MediaItem, **options: Any) -> tuple[str, str]:
        slots: list[Slot] = []
        multimodal.apply(
            qwen, SETTINGS, prompt(qwen, UNIT), [item], write=lambda slot: slots.append(slot) or "", **options
        )
        return slots[0].fingerprint, slots[0].mm_hash

    plain = address(image())
    assert address(image()) == plain
    assert address(image(), mm_processor_kwargs={"min_pixels": 100_000}) != plain
    assert address(image(), media_io_kwargs={"image": {"rgba_background_color": [0, 0, 0]}}) != plain
    named, renamed = address(image(uuid="same")), address(image(encoded(picture(8, 8)), uuid="same"))
    assert named[1] == renamed[1] == "same"
    assert named[0] != renamed[0]


def test_hashes(qwen: Model) -> None:
    features = multimodal.apply(qwen, SETTINGS, prompt(qwen, UNIT), [image()], payload="none").features

    def frame(data: bytes) -> bytes:
        return len(data).to_bytes(8, "little") + data

    stream = frame(b"image") + b"\x03" + frame(b"image") + b"\x03" + frame(PNG)
    stream += frame(b"model_id") + b"\x03" + frame(b"small")
    assert features["mm_hashes"]["image"] == [blake3(stream).hexdigest()]


def test_uuid_alone_after_the_data_was_seen(qwen: Model) -> None:
    ids = prompt(qwen, UNIT)
    first = multimodal.apply(qwen, SETTINGS, ids, [image(uuid="seen-before")])
    assert first.features["mm_hashes"]["image"] == ["seen-before"]
    assert multimodal.apply(qwen, SETTINGS, ids, [image(None, "seen-before")]) == first
    with pytest.raises(BadRequest, match="Cache miss for image at index 0"):
        multimodal.apply(qwen, SETTINGS, ids, [image(None, "never-seen")])


def test_neither_data_nor_uuid(qwen: Model) -> None:
    with pytest.raises(BadRequest, match=r"multi_modal_data\['image'\]\[1\] is empty") as caught:
        multimodal.apply(qwen, SETTINGS, prompt(qwen, UNIT * 2), [image(), image(None)])
    assert caught.value.param == "multi_modal_uuids"


def test_extreme_shapes_are_refused_by_the_layout(qwen: Model) -> None:
    strip = encoded(picture(6500, 20))
    with pytest.raises(BadRequest, match="absolute aspect ratio must be smaller than 200, got 325"):
        multimodal.apply(qwen, SETTINGS, prompt(qwen, UNIT), [image(strip)], payload="none")


def test_processor_options_of_server_and_request(qwen: Model) -> None:
    ids, big = prompt(qwen, UNIT), encoded(picture(640, 640))

    def length(settings: Settings, **request: Any) -> int:
        made = multimodal.apply(qwen, settings, ids, [image(big)], payload="none", mm_processor_kwargs=request)
        size: int = made.features["mm_placeholders"]["image"][0]["length"]
        return size

    assert length(SETTINGS) == 400
    limited = Settings(model="small", mm_processor_kwargs={"max_pixels": 102_400})
    assert length(limited) == 100
    assert length(limited, max_pixels=65_536) == 64
    assert length(SETTINGS, images_kwargs={"max_pixels": 102_400}) == 100
    assert length(SETTINGS, size={"longest_edge": 102_400}) == 100
    with pytest.raises(BadRequest, match="positive"):
        length(SETTINGS, max_pixels=-1)


@pytest.mark.parametrize(
    "options",
    [
        {"size": 5},
        {"size": {"shortest_edge": "many"}},
        {"patch_size": 0},
        {"patch_size": None},
        {"patch_size": 1 << 40},
        {"merge_size": [2]},
        {"temporal_patch_size": -1},
        {"resample": 9},
        {"images_kwargs": 3},
        {"min_pixels": 1 << 40},
        {"size": {"shortest_edge": 10**12, "longest_edge": 10**12}},
    ],
)
def test_options_that_cannot_be_are_refused(qwen: Model, options: dict[str, Any]) -> None:
    """Quickly: nothing of the size that they ask for is made."""
    with pytest.raises(BadRequest) as caught:
        multimodal.apply(qwen, SETTINGS, prompt(qwen, UNIT), [image()], mm_processor_kwargs=options)
    assert caught.value.param in ("mm_processor_kwargs", None)


@pytest.mark.parametrize(
    "options", [{"image": 3}, {"image": {"rgba_background_color": 1}}, {"image": {"image_mode": []}}]
)
def test_decoding_options_that_cannot_be_are_refused(qwen: Model, options: dict[str, Any]) -> None:
    with pytest.raises(BadRequest):
        multimodal.apply(qwen, SETTINGS, prompt(qwen, UNIT), [image()], media_io_kwargs=options)


def test_too_much_to_decode(qwen: Model) -> None:
    """Four images of 60 megapixels are each allowed and together too many; no pixel is touched."""
    from tests.multimodal.images import bomb

    items = [image(bomb(10_000, 6_000)) for _ in range(4)]
    with pytest.raises(BadRequest, match="Request decoded media exceeds"):
        multimodal.apply(qwen, SETTINGS, prompt(qwen, UNIT * 4), items, payload="none")
    few = Settings(model="small", max_media_decoded_bytes=96 * 64 * 4)
    with pytest.raises(BadRequest, match=r"limit of 24576 bytes \(49152 bytes\)"):
        multimodal.apply(qwen, few, prompt(qwen, UNIT * 2), [image(), image()], payload="none")
    with pytest.raises(BadRequest, match="6144 pixels exceed the limit of 6143 pixels"):
        multimodal.apply(qwen, Settings(max_image_pixels=6143), prompt(qwen, UNIT), [image()], payload="none")


def test_text_models_take_no_media(model: Model) -> None:
    for call in (multimodal.apply, _counts):
        with pytest.raises(BadRequest, match="small is not a multimodal model"):
            call(model, Settings(served_model_name=["small"]), [1], [image()])


def _counts(model: Model, settings: Settings, ids: list[int], items: list[MediaItem]) -> None:
    multimodal.check_counts(model, settings, items)


LIGHT = """
import json, sys
from renderlayer import multimodal
from renderlayer.bundle import open_bundle
from renderlayer.settings import Settings
model = open_bundle(sys.argv[1])
part = json.load(sys.stdin)
ids = model.tokenizer.encode("<|image_pad|>")
multimodal.apply(model, Settings(model="m"), ids, [multimodal.MediaItem("image", part)], payload="none")
print(json.dumps(sorted({"numpy", "torch", "PIL", "boto3", "transformers"} & set(sys.modules))))
"""


@pytest.mark.parametrize(
    ("data", "imported"),
    [(PNG, []), (encoded(picture(96, 64), "JPEG", quality=90), []), (encoded(picture(96, 64), "WEBP"), ["PIL"])],
    ids=["png", "jpeg", "webp"],
)
def test_the_layout_imports_no_library_that_it_does_not_need(
    data: bytes, imported: list[str], qwen: Model, tmp_path_factory: pytest.TempPathFactory
) -> None:
    bundle = next(tmp_path_factory.getbasetemp().glob("models*/qwen3_vl.bundle"))

    done = subprocess.run(
        [sys.executable, "-c", LIGHT, str(bundle)],
        input=json.dumps(image(data).part),
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        check=True,
        capture_output=True,
        text=True,
    )
    assert json.loads(done.stdout) == imported


def test_metadata_is_null_where_there_is_none() -> None:
    """Lists of nulls keep the modalities of all four maps equal; with no metadata at all the map is null."""
    from renderlayer.multimodal.apply import metadata_of
    from renderlayer.multimodal.families.base import Plan
    from renderlayer.multimodal.tensor import Field, int64

    grid = {"grid": Field(int64([1]), "batched", keep_on_cpu=True)}
    some, none = Plan([1], grid, dict), Plan([1], {}, dict)
    packed = base64.b64encode(pack_item(grid)).decode()
    assert metadata_of([("image", some), ("audio", none)]) == {"image": [packed], "audio": [None]}
    assert metadata_of([("audio", none)]) is None


def unpacked(text: str) -> Any:
    return msgpack.unpackb(base64.b64decode(text), strict_map_key=False)
