"""Prefixes in the object store: another process finds what this one kept (docs/wire.md 2.10)."""

from __future__ import annotations

from array import array
from dataclasses import replace
from typing import Any

import pytest

from renderlayer.references.address import Place
from renderlayer.render.continuing import prefixes
from renderlayer.render.continuing.prefixes import FOLDER, keep_prefix, prefix_of
from renderlayer.render.continuing.refusal import NotExtended
from renderlayer.served_model import ServedModel


@pytest.fixture
def stored(server: ServedModel, place: Place) -> ServedModel:
    settings = replace(server.settings, reference_bucket=place.bucket, reference_prefix=place.prefix)
    return ServedModel(server.model, settings)


def forget() -> None:
    """As another process would start."""
    prefixes.memory_of.cache_clear()


def test_another_process_finds_it(stored: ServedModel) -> None:
    digest = keep_prefix([1, 2, 3], [70_000, 5], stored)
    assert digest == keep_prefix([1, 2, 3], [70_000, 5], stored)
    assert digest != keep_prefix([1, 2], [3, 70_000, 5], stored)
    forget()
    assert prefix_of(digest, stored) == (array("I", [1, 2, 3]), array("I", [70_000, 5]))


def test_what_is_not_what_the_digest_says_is_nothing(stored: ServedModel, s3: Any, place: Place) -> None:
    digest = keep_prefix([1, 2, 3], [4, 5], stored)
    forget()
    address = place.address(f"{stored.model.facts.fingerprint}-{FOLDER}", digest)
    s3.put_object(Bucket=address.bucket, Key=address.key, Body=b"\1\0\0\0\2\0\0\0")
    for wanted in (digest, "0" * 64):
        with pytest.raises(NotExtended, match="no ids are kept"):
            prefix_of(wanted, stored)


def test_a_process_keeps_so_much(server: ServedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    forget()
    monkeypatch.setattr(prefixes, "_BYTES", 36)
    first, second = keep_prefix([1, 2], [3], server), keep_prefix([1, 2], [4, 5, 6, 7, 8], server)
    assert prefix_of(second, server) == (array("I", [1, 2]), array("I", [4, 5, 6, 7, 8]))
    with pytest.raises(NotExtended):
        prefix_of(first, server)
