"""The memory of items by uuid is bounded."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from renderlayer.multimodal import recent
from renderlayer.multimodal.items import Content


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(recent, "CAPACITY", 100)
    yield
    for name in "abc":
        recent.keep("image", name, Content(b""))


def test_the_least_recently_used_go_first() -> None:
    recent.keep("image", "a", Content(bytes(40)))
    recent.keep("image", "b", Content(bytes(40)))
    assert recent.find("image", "a") is not None
    recent.keep("image", "c", Content(bytes(40)))
    assert recent.find("image", "b") is None
    assert recent.find("image", "a") == recent.find("image", "c") == Content(bytes(40))


def test_what_is_too_large_is_not_kept() -> None:
    recent.keep("image", "a", Content(bytes(40)))
    recent.keep("image", "b", Content(bytes(101)))
    assert recent.find("image", "b") is None
    assert recent.find("image", "a") is not None


def test_modalities_have_their_own_names() -> None:
    recent.keep("image", "a", Content(b"x"))
    assert recent.find("video", "a") is None
