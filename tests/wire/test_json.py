from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from renderlayer.wire.common.json_text import compact, read

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.integers().map(lambda number: number << 70),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def outcome(reader: Callable[[bytes], Any], body: bytes) -> str:
    """The value as Python writes it, which tells 1 from 1.0 and True; or the kind of error."""
    try:
        return repr(reader(body))
    except (ValueError, RecursionError) as error:
        return type(error).__name__


@given(VALUES, st.booleans(), st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]))
def test_what_json_writes_is_read_as_json_reads_it(value: Any, escaped: bool, encoding: str) -> None:
    body = json.dumps(value, ensure_ascii=escaped).encode(encoding, "surrogatepass")
    assert outcome(read, body) == outcome(json.loads, body)


@given(VALUES, st.data())
def test_damaged_json_is_judged_as_json_judges_it(value: Any, data: st.DataObject) -> None:
    body = bytearray(json.dumps(value).encode())
    at = data.draw(st.integers(0, len(body) - 1))
    put = data.draw(st.sampled_from([b"", b"0", b'"', b"\\", b"-", b"e", b"\xff", b" ", b"]"]))
    body[at : at + data.draw(st.integers(0, 2))] = put
    assert outcome(read, bytes(body)) == outcome(json.loads, bytes(body))


@pytest.mark.parametrize(
    "body",
    [b'"\\ud800"', b"\xef\xbb\xbf1", b"[" * 300 + b"]" * 300, b"[" * 100_000, b"9" * 5000, b"1E400", b"-0", b"NaN"],
    ids=["surrogate", "mark", "deep", "too deep", "long", "large", "minus", "nan"],
)
def test_odd_bodies(body: bytes) -> None:
    assert outcome(read, body) == outcome(json.loads, body)


def test_a_lone_surrogate_is_escaped() -> None:
    assert json.loads(compact({"name": "\ud800é"})) == {"name": "\ud800é"}
