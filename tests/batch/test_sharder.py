"""Shards: every byte in exactly one, whole lines, the same ones however the file's bytes arrive."""

from __future__ import annotations

import json
import tracemalloc
from itertools import islice, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from renderlayer.batch.steps.fingerprints import BUCKETS, FingerprintSet, fingerprint
from renderlayer.batch.steps.lines import numbered
from renderlayer.batch.steps.sharder import BOM, LARGEST_LINE, Limits, Sharder, ShardRange

LINES = st.lists(
    st.one_of(
        st.sampled_from(
            [b"", b"  ", b"\r", b"{", "é👍🏽".encode(), BOM, b'{"custom_id": "a"}', b'{"custom_id": "b"}\r']
        ),
        st.text(alphabet="aé👍\u2028x", max_size=12).map(lambda text: json.dumps({"custom_id": text}).encode()),
        st.text(alphabet="aé👍\u2028x", max_size=12).map(str.encode),
    ),
    max_size=30,
)


def cuts(pieces: list[bytes], limits: Limits, cutter: Sharder | None = None) -> list[ShardRange]:
    cutter = cutter or Sharder(limits, FingerprintSet())
    found = [cut for piece in pieces for cut in cutter.feed(piece)]
    return found + list(cutter.finish())


def split_at(data: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in pairwise(edges)]


@settings(max_examples=300, deadline=None)
@given(LINES, st.booleans(), st.lists(st.integers(0, 10_000), max_size=20), st.integers(1, 60), st.integers(1, 8))
def test_shards_cover_every_byte_once(
    lines: list[bytes], last_end: bool, places: list[int], size: int, count: int
) -> None:
    data = b"\n".join(lines) + (b"\n" if last_end else b"")
    limits = Limits(size, count)
    found = cuts(split_at(data, places), limits)
    assert found == cuts([data], limits)
    assert b"".join(data[cut.start : cut.end] for cut in found) == data
    assert [cut.start for cut in found[1:]] == [cut.end for cut in found[:-1]]
    for cut in found:
        assert cut.end == len(data) or data[cut.end - 1 : cut.end] == b"\n"
        assert cut.first_line == data[: cut.start].count(b"\n") + 1
    whole = list(numbered(data, 1))
    assert [row for cut in found for row in numbered(data[cut.start : cut.end], cut.first_line)] == whole
    assert sum(cut.requests for cut in found) == len(whole)


@settings(max_examples=100, deadline=None)
@given(LINES, st.integers(1, 60), st.integers(1, 8), st.integers(0, 29))
def test_going_on_from_any_shard_gives_the_same_ones(lines: list[bytes], size: int, count: int, stop: int) -> None:
    data, limits = b"\n".join(lines), Limits(size, count)
    whole = cuts([data], limits)
    stop = min(stop, len(list(Sharder(limits, FingerprintSet()).feed(data))))
    before = Sharder(limits, FingerprintSet())
    kept = list(islice(before.feed(data), stop))
    after = Sharder(limits, FingerprintSet(before.seen.packed()), before.at, before.line, before.objects)
    assert kept + cuts([data[before.at :]], limits, after) == whole


def test_duplicates_are_found_across_shards() -> None:
    data = b"".join(json.dumps({"custom_id": name}).encode() + b"\n" for name in ("a", "b", "a", "c", "b", "a"))
    found = cuts([data], Limits(1 << 20, 2))
    assert [cut.duplicates for cut in found] == [(), (3,), (5, 6)]


def test_a_line_that_is_too_long_is_never_held() -> None:
    long = LARGEST_LINE * 3
    piece = b"x" * (1 << 20)
    pieces = [b'{"custom_id": "a"}\n', *[piece] * (long >> 20), b'\n{"custom_id": "b"}']
    tracemalloc.start()
    found = cuts(pieces, Limits(4 << 20, 500))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [(cut.first_line, cut.requests, cut.too_long) for cut in found] == [
        (1, 1, False),
        (2, 1, True),
        (3, 1, False),
    ]
    assert found[1].end - found[1].start == long + 1
    assert peak < 2.5 * LARGEST_LINE


def test_a_line_of_twelve_megabytes_is_read() -> None:
    line = json.dumps({"custom_id": "a", "body": "x" * (12 << 20)}).encode()
    (cut,) = cuts(split_at(line, [1, 5 << 20]), Limits(4 << 20, 500))
    assert (cut.requests, cut.too_long) == (1, False)


@given(st.lists(st.text("ab", min_size=6, max_size=6), max_size=60))
def test_the_set_of_ids_is_exact(texts: list[str]) -> None:
    """Fingerprints of few letters in one bucket, which find themselves across two others."""
    entries = [b"\0\0" + text.encode() for text in texts]
    seen = FingerprintSet()
    assert [seen.add(entry) for entry in entries] == [
        entry not in entries[:number] for number, entry in enumerate(entries)
    ]


@pytest.mark.long
def test_the_set_of_ids_is_small() -> None:
    count = 300_000
    tracemalloc.start()
    seen = FingerprintSet()
    assert all(seen.add(fingerprint(f"id-{number}")) for number in range(count))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert not any(seen.add(fingerprint(f"id-{number}")) for number in range(0, count, 100))
    assert sum(map(len, seen.packed())) == 6 * count + 4 * BUCKETS
    assert peak < 40 * count  # most of it the buckets themselves, of which there are no more for more ids
