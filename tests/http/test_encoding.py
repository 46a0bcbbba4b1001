from __future__ import annotations

import gzip
import json
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from renderlayer.errors import BadRequest, PayloadTooLarge
from renderlayer.http.middleware.body_limit import accepts_gzip, compressed, decompressed, size_as_base64, size_as_text
from tests.events.context import carried


@pytest.mark.parametrize(
    ("header", "accepted"),
    [
        (None, None),
        ("gzip", True),
        ("br, GZIP;q=0.5", True),
        ("*", True),
        ("deflate, *;q=0.1", True),
        ("", False),
        ("identity", False),
        ("gzip;q=0", False),
        ("gzip; q=0.0, *", False),
        ("gzip;q=nonsense", False),
    ],
)
def test_accept_encoding(header: str | None, accepted: bool | None) -> None:
    assert accepts_gzip(header) is accepted


@given(st.binary(max_size=4096))
def test_round_trip(body: bytes) -> None:
    assert decompressed(compressed(body), "gzip", 4096) == body
    assert gzip.decompress(compressed(body)) == body
    assert compressed(body) == compressed(body)


@given(st.binary(max_size=512), st.sampled_from(["", "identity", " Identity "]))
def test_identity_is_left_alone(body: bytes, coding: str) -> None:
    assert decompressed(body, coding, 1) == body


def test_the_limit_holds_for_what_a_body_inflates_to() -> None:
    bomb = compressed(bytes(50_000_000))
    assert len(bomb) < 300_000
    with pytest.raises(PayloadTooLarge):
        decompressed(bomb, "gzip", 1_000_000)
    assert decompressed(compressed(bytes(1_000_000)), "gzip", 1_000_000) == bytes(1_000_000)


@pytest.mark.parametrize(
    ("body", "coding"),
    [
        (b"{}", "gzip"),
        (compressed(b"{}")[:-1], "gzip"),
        (compressed(b"{}") + compressed(b"{}"), "gzip"),
        (b"", "gzip"),
        (zlib.compress(b"{}"), "deflate"),
        (b"{}", "gzip, gzip"),
    ],
)
def test_broken_bodies_and_foreign_codings_are_the_callers_fault(body: bytes, coding: str) -> None:
    with pytest.raises(BadRequest):
        decompressed(body, coding, 1000)


@settings(max_examples=200)
@given(st.recursive(st.text() | st.integers() | st.none(), lambda inner: st.lists(inner, max_size=4), max_leaves=8))
def test_size_as_text_is_what_the_runtime_client_sends(value: object) -> None:
    body = json.dumps(value, separators=(",", ":")).encode()
    sent = json.dumps(body.decode(), ensure_ascii=False).encode()
    assert size_as_text(body) == len(sent) - len('""')


@given(st.binary(max_size=512))
def test_size_as_base64(body: bytes) -> None:
    assert size_as_base64(body) == len(carried(body)[0])
