"""References in the text of a body: found where they stand, nowhere else, whatever the JSON looks like."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from renderlayer.errors import BadRequest, RenderLayerError
from renderlayer.references.scan import Found, mentioned, references
from renderlayer.wire.common.base import parse
from renderlayer.wire.generate import GenerateRequest

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
def test_bodies_of_too_many_parts_are_refused(before: str, part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("renderlayer.references.scan.MOST_PARTS", 5000)
    with pytest.raises(BadRequest, match="too many parts"):
        references((before + part * 5001).encode())
    assert references((before + part * 2000).encode()) == []


SLOT = st.lists(st.none() | st.text() | st.sampled_from([ONE, TWO]), min_size=1, max_size=4)
PLAUSIBLE = st.dictionaries(st.sampled_from(["image", "video", "", "kwargs_data"]), SLOT, max_size=3)


@given(kwargs_data=st.none() | PLAUSIBLE, metadata=st.booleans(), style=st.integers(0, 2))
def test_what_the_wire_accepts_is_searched_whole(
    kwargs_data: dict[str, list[Any]] | None, metadata: bool, style: int
) -> None:
    """Of a request that the engine takes, no entry that is a reference stays unfound, and nothing else is found."""
    lengths = {name: len(listed) for name, listed in (kwargs_data or {}).items()}
    offsets = {name: sum(list(lengths.values())[:at]) for at, name in enumerate(lengths)}
    features = {
        "mm_hashes": {name: ["h"] * length for name, length in lengths.items()},
        "mm_placeholders": {
            name: [{"offset": offsets[name] + at, "length": 1} for at in range(length)]
            for name, length in lengths.items()
        },
        "kwargs_data": kwargs_data,
        "mm_metadata": kwargs_data if metadata else None,
    }
    text = written({"token_ids": [1] * sum(lengths.values(), 1), "features": features, "sampling_params": {}}, style)
    read = parse(GenerateRequest, json.loads(text)).features
    assert read is not None
    entries = [
        (f"features.{slot}.{name}[{at}]", entry)
        for slot in SLOTS
        for name, listed in (getattr(read, slot) or {}).items()
        for at, entry in enumerate(listed)
        if entry is not None and entry.startswith("s3:")
    ]
    assert [(entry.path, entry.text) for entry in references(text)] == entries


@pytest.mark.parametrize("listed", [[[ONE]], [{"a": ONE}], {"0": ONE}, ONE, [[], ONE], [True, ONE], [1, ONE]], ids=str)
def test_entries_are_strings_and_nothing_else(listed: Any) -> None:
    """What is found beside entries of other kinds is fetched in vain: the engine refuses the request."""
    features = {"mm_hashes": {}, "mm_placeholders": {}, "kwargs_data": {"image": listed}}
    with pytest.raises(RenderLayerError, match="kwargs_data"):
        parse(GenerateRequest, {"token_ids": [1], "features": features, "sampling_params": {}})


def test_a_scheme_that_is_written_with_escapes_is_no_reference() -> None:
    """It reaches the engine, for which it is broken base64."""
    escaped = b'{"features":{"kwargs_data":{"image":["\\u0073\\u0033:\\/\\/bucket"]}}}'
    assert references(escaped) == [] and not mentioned([escaped])
