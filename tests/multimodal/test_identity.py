"""mm_hash against byte streams written out by hand, and what changes it (wire.md 4.4)."""

from __future__ import annotations

import hashlib
import struct
from typing import Any

import pytest
from blake3 import blake3
from hypothesis import given, settings
from hypothesis import strategies as st

from renderlayer.multimodal.wire.identity import Array, Identity, Loaded


def frame(data: bytes) -> bytes:
    return struct.pack("<Q", len(data)) + data


def named(algorithm: str = "blake3", io: Any = None, processor: Any = None) -> Identity:
    return Identity(algorithm, "m", io or {}, processor or {})


IMAGE = frame(b"image") + b"\x03" + frame(b"image") + b"\x03" + frame(b"content")
MODEL = frame(b"model_id") + b"\x03" + frame(b"m")


def test_an_image_as_it_came() -> None:
    assert named().of("image", Loaded("image", b"content"), None) == blake3(IMAGE + MODEL).hexdigest()


@pytest.mark.parametrize("algorithm", ["sha256", "sha512"])
def test_other_algorithms(algorithm: str) -> None:
    expected = hashlib.new(algorithm, IMAGE + MODEL).hexdigest()
    assert named(algorithm).of("image", Loaded("image", b"content"), None) == expected


def test_a_converted_image_hashes_with_its_options() -> None:
    config = {"image_mode": "RGB", "rgba_background_color": (255, 255, 255)}
    colour = b"\x01" + struct.pack("<Q", 3) + (b"\x03" + frame(struct.pack("<q", 255))) * 3
    options = b"\x02" + struct.pack("<Q", 2)
    options += frame(b"image_mode") + b"\x03" + frame(b"RGB") + frame(b"rgba_background_color") + colour
    value = (
        b"\x02" + struct.pack("<Q", 2) + frame(b"io_config") + options + frame(b"data") + b"\x03" + frame(b"content")
    )
    stream = frame(b"image") + b"\x03" + frame(b"image") + value + MODEL
    assert named().of("image", Loaded("image", b"content", config), None) == blake3(stream).hexdigest()


def test_options_of_the_request_sort_in() -> None:
    kwargs = frame(b"mm_processor_kwargs") + b"\x02" + struct.pack("<Q", 1)
    kwargs += frame(b"max_pixels") + b"\x03" + frame(struct.pack("<q", 50176))
    got = named(processor={"max_pixels": 50176}).of("image", Loaded("image", b"content"), None)
    assert got == blake3(IMAGE + kwargs + MODEL).hexdigest()


def test_sections_of_other_modalities_do_not_count() -> None:
    item = Loaded("image", b"content")
    plain = named().of("image", item, None)
    assert named(processor={"videos_kwargs": {"fps": 1}}).of("image", item, None) == plain
    assert named(io={"video": {"num_frames": 4}}).of("image", item, None) == plain
    assert named(processor={"images_kwargs": {"a": 1}}).of("image", item, None) != plain
    assert named(io={"image": {"image_mode": "L"}}).of("image", item, None) != plain


def test_a_uuid_is_the_hash_unless_options_change_the_outcome() -> None:
    item = Loaded("image", b"content")
    assert named().of("image", item, "mine") == "mine"
    one = named(processor={"max_pixels": 1}).of("image", item, "mine")
    assert one != "mine"
    assert one == named(processor={"max_pixels": 1}).of("image", Loaded("image", b"other"), "mine")


def test_arrays() -> None:
    body = b"\x02" + struct.pack("<Q", 3) + frame(b"dtype") + b"\x03" + frame(b"<f4") + frame(b"shape")
    body += b"\x01" + struct.pack("<Q", 1) + b"\x03" + frame(struct.pack("<q", 2))
    body += frame(b"data") + b"\x03" + frame(bytes(8))
    stream = frame(b"audio") + b"\x03" + frame(b"ndarray") + body + MODEL
    assert named().of("audio", Array("<f4", (2,), bytes(8)), None) == blake3(stream).hexdigest()


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=200, deadline=None)
@given(VALUES, VALUES)
def test_different_values_hash_differently(one: Any, other: Any) -> None:
    """Framing leaves no two values with one stream; types count (1 is not 1.0 is not True)."""
    digests = [named(processor={"x": value}).of("image", b"", None) for value in (one, other)]
    assert (digests[0] == digests[1]) == (_typed(one) == _typed(other))


def _typed(value: Any) -> Any:
    if isinstance(value, list):
        return ("list", [_typed(entry) for entry in value])
    if isinstance(value, dict):
        return ("dict", [(key, _typed(entry)) for key, entry in value.items()])
    if isinstance(value, float):
        return ("float", struct.pack("<d", value))
    if isinstance(value, int) and not isinstance(value, bool):
        return ("bytes8", struct.pack("<q", value))
    return (type(value).__name__, value)
