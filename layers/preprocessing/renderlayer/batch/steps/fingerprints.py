"""Which custom_ids a file has had, in a few bytes a line."""

from __future__ import annotations

import hashlib
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator

BUCKETS = 1 << 16
REST = 6
"""Bytes of a fingerprint that its bucket does not tell already."""
STRIPES = 8
STRIPE = BUCKETS // STRIPES
"""A set is handed on in pieces of so many buckets, so that it is never in memory twice."""


def fingerprint(custom_id: str) -> bytes:
    """64 bits of an id; two of ten million ids share theirs with a probability of 3 in a million."""
    return hashlib.blake2b(custom_id.encode("utf-8", "surrogatepass"), digest_size=8).digest()


class FingerprintSet:
    """A set of fingerprints, spread over buckets: 9 bytes an entry where there are millions."""

    def __init__(self, stripes: Iterable[bytes] = ()) -> None:
        self._buckets: defaultdict[int, bytearray] = defaultdict(bytearray)
        for number, stripe in enumerate(stripes):
            self._buckets.update(_unpacked(stripe, number * STRIPE))

    def add(self, entry: bytes) -> bool:
        """Note a fingerprint; False when it is there already."""
        bucket, rest = self._buckets[entry[0] << 8 | entry[1]], entry[2:]
        at = bucket.find(rest)
        while at > 0 and at % REST:  # found across two entries
            at = bucket.find(rest, at + 1)
        if at >= 0:
            return False
        bucket += rest
        return True

    def packed(self) -> Iterator[bytes]:
        """The set in `STRIPES` pieces, for one that goes on from here: lengths of buckets, then what is in them."""
        for first in range(0, BUCKETS, STRIPE):
            stripe = [self._buckets.get(number, b"") for number in range(first, first + STRIPE)]
            yield array("I", map(len, stripe)).tobytes() + b"".join(stripe)


def _unpacked(stripe: bytes, first: int) -> Iterator[tuple[int, bytearray]]:
    """The buckets of a piece that have entries; `first`: number of its first one."""
    lengths = array("I", stripe[: STRIPE * array("I").itemsize])
    at = len(lengths) * lengths.itemsize
    for number, length in enumerate(lengths, first):
        if length:
            yield number, bytearray(stripe[at : at + length])
            at += length
