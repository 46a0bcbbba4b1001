"""Which custom_ids a file has had, in a bounded number of bytes a line."""

from __future__ import annotations

import hashlib
from array import array

_SMALLEST = 1 << 12


class Seen:
    """A set of 64-bit fingerprints in one array: 12 to 24 bytes an entry, and 8 when it is handed on.

    Two different ids of a file with ten million lines share a fingerprint with a probability of 3 in a million.
    """

    def __init__(self, packed: bytes = b"") -> None:
        self._count = 0
        self._slots = array("Q", bytes(8 * _SMALLEST))
        for fingerprint in array("Q", packed):
            self._add(fingerprint)

    def add(self, custom_id: str) -> bool:
        """Note an id; False when it is there already."""
        digest = hashlib.blake2b(custom_id.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        return self._add(int.from_bytes(digest, "little") or 1)  # 0 marks a free slot

    def packed(self) -> bytes:
        """The fingerprints, for a set that goes on from here."""
        return array("Q", (fingerprint for fingerprint in self._slots if fingerprint)).tobytes()

    def _add(self, fingerprint: int) -> bool:
        slots = self._slots
        mask = len(slots) - 1
        at = fingerprint & mask
        while slots[at]:
            if slots[at] == fingerprint:
                return False
            at = (at + 1) & mask
        slots[at] = fingerprint
        self._count += 1
        if 3 * self._count > 2 * len(slots):
            self._grow()
        return True

    def _grow(self) -> None:
        old = self._slots
        self._count = 0
        self._slots = array("Q", bytes(16 * len(old)))
        for fingerprint in old:
            if fingerprint:
                self._add(fingerprint)
