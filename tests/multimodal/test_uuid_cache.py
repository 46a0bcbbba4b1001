"""The memory of items by uuid is bounded, names included."""

from __future__ import annotations

import tracemalloc

import pytest

from renderlayer.multimodal import uuid_cache
from renderlayer.multimodal.items import EncodedMedia
from renderlayer.multimodal.uuid_cache import Recent


@pytest.fixture
def small() -> Recent:
    return Recent(100_000)


def test_the_least_recently_used_go_first(small: Recent) -> None:
    small.keep("image", "a", EncodedMedia(bytes(40_000)))
    small.keep("image", "b", EncodedMedia(bytes(40_000)))
    assert small.find("image", "a") is not None
    small.keep("image", "c", EncodedMedia(bytes(40_000)))
    assert small.find("image", "b") is None
    assert small.find("image", "a") == small.find("image", "c") == EncodedMedia(bytes(40_000))


def test_what_is_too_large_is_not_kept(small: Recent) -> None:
    small.keep("image", "a", EncodedMedia(bytes(40_000)))
    small.keep("image", "a", EncodedMedia(bytes(100_001)))
    assert small.find("image", "a") is None


def test_modalities_have_their_own_names(small: Recent) -> None:
    small.keep("image", "a", EncodedMedia(b"x"))
    assert small.find("video", "a") is None


@pytest.mark.parametrize(("name", "data"), [(90_000, 2), (10, 2), (10, 1000)])
def test_memory_is_bounded_whatever_is_kept(small: Recent, name: int, data: int) -> None:
    tracemalloc.start()
    try:
        for number in range(3000):
            small.keep("image", f"{number:0{name}}", EncodedMedia(number.to_bytes(data, "big")))
        size, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert size < 120_000


def test_a_process_keeps_some() -> None:
    uuid_cache.keep("image", "tests.multimodal.test_recent", EncodedMedia(b"x"))
    assert uuid_cache.find("image", "tests.multimodal.test_recent") == EncodedMedia(b"x")
