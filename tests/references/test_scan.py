"""References in the text of a body: found where they stand, nowhere else, whatever the JSON looks like."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from renderlayer.errors import BadRequest
from renderlayer.references.scan import Found, mentioned, references

ONE = "s3://bucket/references/f/one"
TWO = "s3://bucket/references/f/two"
SLOTS = ("kwargs_data", "mm_metadata")

strings = st.text() | st.just(ONE)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | strings,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(strings, inner, max_size=3),
    max_leaves=8,
)
entries = st.lists(st.none() | strings | st.just(TWO), max_size=4)
features = st.fixed_dictionaries(
    {"kwargs_data": values | st.dictionaries(strings, entries, max_size=2)},
    optional={"mm_metadata": st.dictionaries(strings, entries, max_size=2), "mm_hashes": values},
)
bodies = st.fixed_dictionaries(
    {"token_ids": st.lists(st.integers())},
    optional={"features": features | values, "request_ref": strings, "parse_context": values | features},
)


def expected(body: dict[str, Any]) -> list[tuple[str, str]]:
    """(path, reference) by decoding the body."""
    out = []
    for key, value in body.items():
        if key == "request_ref" and value.startswith("s3:"):
            out.append((key, value))
        if key == "features" and isinstance(value, dict):
            for slot, lists in value.items():
                if slot in SLOTS and isinstance(lists, dict):
                    out += [
                        (f"features.{slot}.{name}[{at}]", entry)
                        for name, listed in lists.items()
                        if isinstance(listed, list)
                        for at, entry in enumerate(listed)
                        if isinstance(entry, str) and entry.startswith("s3:")
                    ]
    return out


def written(body: Any, style: int) -> bytes:
    """The body as different clients write it."""
    if style == 0:
        return json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()
    if style == 1:
        return json.dumps(body, indent=2).encode()
    return json.dumps(body).replace("/", "\\/").encode()


@given(body=bodies, style=st.integers(0, 2))
@example(body={"token_ids": [], "features": {"kwargs_data": [[ONE]]}}, style=0)
@example(body={"token_ids": [], "features": {"kwargs_data": {"": [ONE]}}}, style=0)
def test_finds_what_decoding_finds(body: dict[str, Any], style: int) -> None:
    text = written(body, style)
    found = references(text)
    assert [(entry.path, entry.text) for entry in found] == expected(body)
    for entry in found:
        assert json.loads(b'"' + text[entry.start : entry.end] + b'"') == entry.text


@given(text=st.binary(max_size=200) | st.text('{}[]",:\\s3 ab0').map(str.encode))
def test_any_text_is_survived(text: bytes) -> None:
    for entry in references(text):
        assert text[entry.start - 1 : entry.start] == b'"'


def test_names_the_item() -> None:
    body = {"features": {"kwargs_data": {"image": ["QUJD", None, ONE], "video": [TWO]}}}
    assert [(entry.path, entry.text) for entry in references(written(body, 0))] == [
        ("features.kwargs_data.image[2]", ONE),
        ("features.kwargs_data.video[0]", TWO),
    ]


def test_deep_nesting_is_no_recursion() -> None:
    deep = b'{"features":' + b"[" * 100_000 + b'"s3://x"'
    assert references(deep) == []


@pytest.mark.parametrize("size", [1, 2, 3, 4, 100])
def test_a_mention_is_found_across_chunks(size: int) -> None:
    body = b'{"a":"' + ONE.encode() + b'"}'
    assert mentioned([body[at : at + size] for at in range(0, len(body), size)])
    without = body.replace(b"s3:", b"s3/")
    assert not mentioned([without[at : at + size] for at in range(0, len(without), size)])


def test_found_spans_are_the_text_between_the_quotation_marks() -> None:
    body = b'{"request_ref" : "s3:\\/\\/b"}'
    assert references(body) == [Found("request_ref", "s3://b", 18, 26)]


def test_entries_behind_containers_are_found() -> None:
    body = {"features": {"kwargs_data": {"image": [[], ONE, {"a": [ONE, {}]}, None, TWO, [[TWO]], ""]}}, "x": [ONE]}
    for style in range(3):
        found = references(written(body, style))
        assert [(entry.path, entry.text) for entry in found] == [
            ("features.kwargs_data.image[1]", ONE),
            ("features.kwargs_data.image[4]", TWO),
        ]


@pytest.mark.parametrize("part", ["[],", '"",', "{},", '"a":"b",'])
@pytest.mark.parametrize(
    "before", ["[", '{"features":{"kwargs_data":{"image":[', '{"features":{"kwargs_data":{"image":[[']
)
def test_bodies_of_too_many_parts_are_refused(before: str, part: str) -> None:
    with pytest.raises(BadRequest, match="too many parts"):
        references((before + part * 1_000_001).encode())
