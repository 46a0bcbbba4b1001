"""Videos: containers and frame lists, the choice of frames, layout and tensors of the Qwen-VL line."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import msgpack
import numpy as np
import pytest
from blake3 import blake3
from hypothesis import given, settings
from hypothesis import strategies as st

from renderlayer import multimodal
from renderlayer.bundle import Model
from renderlayer.errors import BadRequest
from renderlayer.multimodal import MediaItem
from renderlayer.multimodal.image.picture import ImageIO
from renderlayer.multimodal.video.clip import open_clip, open_frames
from renderlayer.multimodal.video.sampling import Source, by_rate, by_rate_in_pairs, steps, uniform
from renderlayer.settings import Settings
from tests.multimodal.clips import container, frame_list
from tests.multimodal.conftest import QWEN_FILES, QWEN_TOKENS
from tests.multimodal.images import data_url, encoded, picture

SETTINGS = Settings(model="m")
UNIT = "<|vision_start|><|video_pad|><|vision_end|>"


def video(url: str, uuid: str | None = None) -> MediaItem:
    return MediaItem("video", {"type": "video_url", "video_url": {"url": url}}, uuid)


@pytest.fixture(scope="module")
def film() -> bytes:
    return container(90, 64, 48)


def test_a_container(film: bytes) -> None:
    clip = open_clip(film, {}, by_rate)
    assert clip.size == (64, 48)
    assert (clip.source.frames, clip.source.fps, clip.source.duration) == (90, 30.0, 3.0)
    assert clip.indices == [0, 18, 36, 53, 71, 89]
    frames = list(clip.frames())
    assert [frame.shape for frame in frames] == [(48, 64, 3)] * 6
    assert list(clip.metadata.items()) == [
        ("total_num_frames", 90),
        ("fps", 30.0),
        ("duration", 3.0),
        ("video_backend", "opencv"),
        ("frames_indices", clip.indices),
        ("do_sample_frames", False),
    ]


@pytest.mark.parametrize(("form", "codec"), [("matroska", "mpeg4"), ("avi", "mpeg4"), ("mpegts", "mpeg2video")])
def test_other_containers(form: str, codec: str) -> None:
    clip = open_clip(container(10, 64, 48, form=form, codec=codec), {}, lambda source, options: [0, 4])
    assert len(list(clip.frames())) == 2


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"hello",
        b"#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n",
        b"ffconcat version 1.0\nfile /etc/passwd\n",
        b"\x00\x00\x00\x18ftypmp42" + bytes(64),
        b"\x1a\x45\xdf\xa3" + bytes(64),
        b"RIFF\x00\x00\x00\x00AVI " + bytes(64),
        b"\x47" * 188 * 4,
        encoded(picture(8, 8)),
    ],
)
def test_what_is_no_video_is_refused(data: bytes) -> None:
    with pytest.raises(BadRequest, match="Failed to load video"):
        open_clip(data, {}, uniform)


def test_a_cut_film_is_refused_when_its_frames_are_wanted() -> None:
    film = container(40, 64, 48, form="matroska")
    clip = open_clip(film[: len(film) // 2], {}, lambda source, options: [0, 39])
    with pytest.raises(BadRequest, match="Failed to load video"):
        list(clip.frames())


def test_a_list_of_frames() -> None:
    text = frame_list([(32, 16)] * 3).partition(",")[2].encode()
    clip = open_frames(text, {"fps": 2}, ImageIO())
    assert (clip.size, clip.indices, clip.source) == ((32, 16), [0, 1, 2], Source(3, 2.0, 1.5))
    assert clip.metadata["video_backend"] == "jpeg_sequence"
    described = {"total_num_frames": 30, "frames_indices": [0, 10, 29], "duration": 10, "num_frames": -1}
    assert open_frames(text, described, ImageIO()).source == Source(30, 1.0, 10)
    assert len(open_frames(text, {"num_frames": 2}, ImageIO()).indices) == 2


@pytest.mark.parametrize(
    "options",
    [
        {"num_frames": 0},
        {"num_frames": "all"},
        {"total_num_frames": 2},
        {"frames_indices": [0, 1]},
        {"frames_indices": [0, 1, "2"]},
        {"duration": -1},
        {"fps": "fast"},
    ],
)
def test_options_that_contradict_the_frames(options: dict[str, Any]) -> None:
    with pytest.raises(BadRequest):
        open_frames(frame_list([(8, 8)] * 3).partition(",")[2].encode(), options, ImageIO())


@pytest.mark.parametrize("options", [{"fps": "fast"}, {"fps": -1, "min_frames": 0}, {"max_frames": []}])
def test_options_that_no_film_can_follow(make_model: Callable[..., Model], options: dict[str, Any]) -> None:
    model = make_model("qwen2_vl", QWEN_TOKENS, QWEN_FILES)
    item = video(data_url(container(8, 64, 48), "video/mp4"))
    ids = model.tokenizer.encode(UNIT)
    with pytest.raises(BadRequest):
        multimodal.apply(model, SETTINGS, ids, [item], media_io_kwargs={"video": options}, payload="none")


def test_frames_are_of_one_size() -> None:
    with pytest.raises(BadRequest, match="same size"):
        open_frames(frame_list([(8, 8), (9, 8)]).partition(",")[2].encode(), {}, ImageIO())


@given(st.integers(1, 2000), st.floats(1, 120), st.integers(1, 40))
def test_choices_are_ordered_and_within_the_film(frames: int, fps: float, wanted: int) -> None:
    source = Source(frames, fps, frames / fps)
    for choose, options in ((by_rate, {}), (uniform, {"num_frames": wanted}), (by_rate_in_pairs, {})):
        if choose is by_rate_in_pairs and frames < 2:
            continue
        indices = choose(source, options)
        assert indices == sorted(indices)
        assert indices[0] >= 0 and indices[-1] < frames
        assert len(indices) <= min(768, frames)
        assert choose is uniform or len(indices) >= min(frames, 4) - 1


@settings(max_examples=100, deadline=None)
@given(st.integers(2, 40_000), st.integers(1, 384))
def test_steps_are_torchs(frames: int, pairs: int) -> None:
    torch = pytest.importorskip("torch")
    step = frames / min(2 * pairs, frames // 2 * 2)
    assert steps(frames, step) == torch.arange(0, frames, step).int().tolist()


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 40_000), st.floats(1, 60))
def test_spreads_are_numpys(frames: int, fps: float) -> None:
    chosen = by_rate(Source(frames, fps, frames / fps), {})
    assert chosen == np.linspace(0, frames - 1, len(chosen)).round().astype(int).tolist()
    cut = uniform(Source(frames, fps, frames / fps), {"num_frames": 32})
    assert cut == np.linspace(0, frames - 1, len(cut), dtype=int).tolist()


def test_unknown_rates_and_single_frames() -> None:
    for choose in (by_rate, by_rate_in_pairs):
        with pytest.raises(BadRequest, match="frame rate"):
            choose(Source(10, 0.0, 0.0), {})
    with pytest.raises(BadRequest, match="at least 2 frames"):
        by_rate_in_pairs(Source(1, 30.0, 0.1), {})


def test_qwen3_vl_writes_times_into_the_prompt(qwen: Model) -> None:
    """Two pairs of frames of 4 × 4 patches: of the range only the eight pads take embeddings."""
    ids = qwen.tokenizer.encode(f"a{UNIT}b")
    item = video(frame_list([(64, 48)] * 4))
    expanded = multimodal.apply(qwen, SETTINGS, ids, [item])
    text = qwen.tokenizer.decode(expanded.token_ids, skip_special_tokens=False)
    pads = "<|vision_start|>" + "<|video_pad|>" * 4 + "<|vision_end|>"
    assert text == f"a<|vision_start|><0.5 seconds>{pads}<2.5 seconds>{pads}<|vision_end|>b"
    place = expanded.features["mm_placeholders"]["video"][0]
    assert place["length"] == len(place["is_embed"]) == len(expanded.token_ids) - 4
    pad = qwen.vocabulary.id_of("<|video_pad|>")
    marked = [token for token, used in zip(expanded.token_ids[2:], place["is_embed"], strict=False) if used]
    assert marked == [pad] * 8
    fields = _item(expanded.features["kwargs_data"]["video"][0])
    assert fields["pixel_values_videos"]["data"][:2] == ["uint8", [32, 1536]]
    assert fields["timestamps"]["data"] == [0.5, 2.5]
    assert set(_item(expanded.features["mm_metadata"]["video"][0])) == {"video_grid_thw", "timestamps"}


def test_pixels_of_a_list_are_those_of_its_images(qwen: Model) -> None:
    """A pair of equal frames gives the rows of the image alone."""
    image = encoded(picture(256, 256), "JPEG")
    text = base64.b64encode(image).decode()
    size = {"mm_processor_kwargs": {"size": {"shortest_edge": 65536, "longest_edge": 16777216}}}
    frames = multimodal.apply(
        qwen, SETTINGS, qwen.tokenizer.encode(UNIT), [video(f"data:video/jpeg;base64,{text},{text}")], **size
    )
    still = MediaItem("image", {"type": "image_url", "image_url": {"url": data_url(image, "image/jpeg")}})
    alone = multimodal.apply(qwen, SETTINGS, qwen.tokenizer.encode(UNIT.replace("video", "image")), [still], **size)
    moving = _item(frames.features["kwargs_data"]["video"][0])["pixel_values_videos"]["data"]
    assert moving == _item(alone.features["kwargs_data"]["image"][0])["pixel_values"]["data"]


def test_a_film_and_its_hash(qwen: Model, film: bytes) -> None:
    features = multimodal.apply(
        qwen, SETTINGS, qwen.tokenizer.encode(UNIT), [video(data_url(film, "video/mp4"))], payload="none"
    ).features

    def frame(data: bytes) -> bytes:
        return len(data).to_bytes(8, "little") + data

    def integer(value: int) -> bytes:
        return b"\x03" + frame(value.to_bytes(8, "little"))

    metadata = b"\x02" + (6).to_bytes(8, "little") + frame(b"total_num_frames") + integer(90)
    metadata += frame(b"fps") + b"\x03" + frame(np.float64(30.0).tobytes())
    metadata += frame(b"duration") + b"\x03" + frame(np.float64(3.0).tobytes())
    metadata += frame(b"video_backend") + b"\x03" + frame(b"opencv")
    metadata += frame(b"frames_indices") + b"\x01" + (6).to_bytes(8, "little")
    metadata += b"".join(map(integer, (0, 18, 36, 53, 71, 89)))
    metadata += frame(b"do_sample_frames") + b"\x03" + frame(b"\x00")
    loaded = b"\x03" + frame(b"video") + b"\x03" + frame(film)
    stream = frame(b"model_id") + b"\x03" + frame(b"m")
    stream += frame(b"video") + b"\x01" + (2).to_bytes(8, "little") + loaded + metadata
    assert features["mm_hashes"]["video"] == [blake3(stream).hexdigest()]


def test_qwen2_5_vl(make_model: Callable[..., Model], film: bytes) -> None:
    files = {name: {**content, "patch_size": 14} for name, content in QWEN_FILES.items()}
    model = make_model("qwen2_5_vl", QWEN_TOKENS, files)
    ids = model.tokenizer.encode(UNIT)
    expanded = multimodal.apply(model, SETTINGS, ids, [video(data_url(film, "video/mp4"))])
    fields = _item(expanded.features["kwargs_data"]["video"][0])
    grid = memoryview(fields["video_grid_thw"]["data"][2].data).cast("q").tolist()
    assert grid == [3, 4, 6]
    assert expanded.features["mm_placeholders"]["video"] == [{"offset": 1, "length": 3 * 6}]
    dtype, shape, raw = fields["second_per_grid_ts"]["data"]
    assert (dtype, shape) == ("bfloat16", [])
    assert raw.data == np.float32(1.0).tobytes()[2:]


def test_frames_smaller_than_their_files_are_hashed_as_pixels(qwen: Model) -> None:
    """A padded file around few pixels; the digest does not change with the padding."""
    plain = encoded(picture(32, 32), "JPEG")
    hashes = set()
    for comment in (b"x" * 20_000, b"y" * 30_000):
        text = base64.b64encode(plain[:2] + b"\xff\xfe" + (len(comment) + 2).to_bytes(2, "big") + comment + plain[2:])
        item = video(f"data:video/jpeg;base64,{text.decode()},{text.decode()}")
        features = multimodal.apply(qwen, SETTINGS, qwen.tokenizer.encode(UNIT), [item], payload="none").features
        hashes.add(features["mm_hashes"]["video"][0])
    assert len(hashes) == 1


def _item(text: str) -> Any:
    return msgpack.unpackb(base64.b64decode(text), strict_map_key=False)
