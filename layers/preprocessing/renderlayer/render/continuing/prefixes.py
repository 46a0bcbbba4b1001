"""Prompts with their outputs under a digest, so that they need not travel: in this process, and in the object store.

The digest is the SHA-256 of what is kept: the number of prompt tokens and all ids, four bytes each. So whoever reads
it can tell that it is right.
"""

from __future__ import annotations

import hashlib
import sys
import threading
from array import array
from collections import OrderedDict
from collections.abc import Sequence
from functools import lru_cache

from renderlayer.render.continuing.refusal import NotExtended
from renderlayer.served_model import ServedModel

_BYTES = 64 << 20
"""What a process keeps of a model's prefixes at most."""
FOLDER = "prefixes"


class Memory:
    """The latest prefixes of a process. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._bytes = 0

    def put(self, digest: str, data: bytes) -> None:
        with self._lock:
            if digest not in self._kept:
                self._kept[digest] = data
                self._bytes += len(data)
            self._kept.move_to_end(digest)
            while self._bytes > _BYTES:
                self._bytes -= len(self._kept.popitem(last=False)[1])

    def get(self, digest: str) -> bytes | None:
        with self._lock:
            data = self._kept.get(digest)
            if data is not None:
                self._kept.move_to_end(digest)
            return data


@lru_cache(maxsize=8)
def memory_of(fingerprint: str) -> Memory:
    """The memory for a packed model."""
    return Memory()


def keep_prefix(prompt: Sequence[int], output: Sequence[int], server: ServedModel) -> str:
    """Keep a prompt and what was sampled for it; returns the digest that stands for both.

    Raises:
        Unavailable: the object store failed.
    """
    data = _packed([len(prompt), *prompt, *output])
    digest = hashlib.sha256(data).hexdigest()
    fingerprint = server.model.facts.fingerprint
    memory_of(fingerprint).put(digest, data)
    if server.settings.reference_bucket:
        from renderlayer.references.content_store import StoredContent
        from renderlayer.references.writing import content_store_of

        content_store_of(server.settings, server.model).get_or_put(
            StoredContent(f"{fingerprint}-{FOLDER}", digest, 0, lambda: data)
        )
    return digest


def prefix_of(digest: str, server: ServedModel) -> tuple[list[int], list[int]]:
    """The prompt and the output that a digest stands for.

    Raises:
        NotExtended: nothing is kept under it, or it is not what the digest says.
        Unavailable: the object store failed.
    """
    fingerprint = server.model.facts.fingerprint
    data = memory_of(fingerprint).get(digest)
    if data is None and server.settings.reference_bucket:
        from renderlayer.references.writing import content_store_of

        data = content_store_of(server.settings, server.model).read(f"{fingerprint}-{FOLDER}", digest)
        if data is not None and hashlib.sha256(data).hexdigest() != digest:
            data = None
    if data is None:
        raise NotExtended("no ids are kept under this prefix")
    count, *ids = _unpacked(data)
    return ids[:count], ids[count:]


def _packed(numbers: list[int]) -> bytes:
    packed = array("I", numbers)
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()


def _unpacked(data: bytes) -> list[int]:
    numbers = array("I", data)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tolist()
