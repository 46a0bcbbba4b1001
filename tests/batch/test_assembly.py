"""Joining inside of the store: its rules for pieces, for any sizes, and the real thing."""

from __future__ import annotations

import os
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from renderlayer.batch.steps.assembly import LEAST, Segment, assemble, pieces
from renderlayer.storage.bucket import Bucket
from tests.batch.steps import forever


@settings(max_examples=300, deadline=None)
@given(st.lists(st.integers(0, 300), max_size=40), st.integers(1, 100))
def test_pieces_have_their_least_size_and_nothing_is_lost(sizes: list[int], least: int) -> None:
    segments = [Segment(f"part-{at}", 3, 3 + size) for at, size in enumerate(sizes)]
    planned = list(pieces(segments, least))
    assert all(sum(segment.size for segment in piece) >= least for piece in planned[:-1])
    bytes_of = [(segment.key, at) for piece in planned for segment in piece for at in range(segment.start, segment.end)]
    assert bytes_of == [(segment.key, at) for segment in segments for at in range(segment.start, segment.end)]
    assert all(segment.size for piece in planned for segment in piece)


def test_large_ones_are_copied_and_small_ones_sent(bucket: Bucket, s3: Any) -> None:
    sizes = [100, 6 << 20, 10, 20, 7 << 20, 5]
    contents = [os.urandom(size + 8) for size in sizes]
    for at, content in enumerate(contents):
        bucket.create(f"part-{at}", content)
    segments = [Segment(f"part-{at}", 3, 3 + size) for at, size in enumerate(sizes)]
    assert assemble(bucket, "whole", segments, forever) is None
    whole = s3.get_object(Bucket=bucket.name, Key="whole")["Body"].read()
    assert whole == b"".join(content[3 : 3 + size] for content, size in zip(contents, sizes, strict=True))
    assert assemble(bucket, "whole", segments[:2], forever) is None
    assert assemble(bucket, "whole", segments[:1], forever) is None
    assert s3.head_object(Bucket=bucket.name, Key="whole")["ContentLength"] == len(whole)
    assert "Uploads" not in s3.list_multipart_uploads(Bucket=bucket.name)
    assert [[segment.key for segment in piece] for piece in pieces(segments, LEAST)] == [
        ["part-0", "part-1"],
        ["part-1", "part-2", "part-3", "part-4"],
        ["part-4", "part-5"],
    ]
