"""Prompts with their outputs under a digest, so that they need not travel: in this process, and in the object store.

The digest is the SHA-256 of what is kept: all ids, and behind them the number of those that are the prompt's, four
bytes each. So whoever reads it can tell that it is right, and the digest of a longer prompt goes on from a shorter's.
"""

from __future__ import annotations

import hashlib
import sys
import threading
from array import array
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from renderlayer.render.continuing.refusal import NotExtended
from renderlayer.served_model import ServedModel

if TYPE_CHECKING:
    from hashlib import _Hash

_BYTES = 64 << 20
"""What a process keeps of a model's prefixes at most."""
FOLDER = "prefixes"


@dataclass(frozen=True)
class Kept:
    """A prompt and its output.

    Attributes:
        ids: all of them; nobody changes them.
        count: how many of them are the prompt's.
        state: the hash of the ids.
    """

    ids: array[int]
    count: int
    state: _Hash

    @property
    def content(self) -> bytes:
        """What the digest is of."""
        return _bytes(self.ids) + _bytes(array("I", [self.count]))

    @property
    def digest(self) -> str:
        whole = self.state.copy()
        whole.update(_bytes(array("I", [self.count])))
        return whole.hexdigest()


class Memory:
    """The latest prefixes of a process. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, Kept] = OrderedDict()
        self._bytes = 0

    def put(self, digest: str, kept: Kept) -> None:
        with self._lock:
            if digest not in self._kept:
                self._kept[digest] = kept
                self._bytes += 4 * len(kept.ids)
            self._kept.move_to_end(digest)
            while self._bytes > _BYTES:
                self._bytes -= 4 * len(self._kept.popitem(last=False)[1].ids)

    def get(self, digest: str) -> Kept | None:
        with self._lock:
            kept = self._kept.get(digest)
            if kept is not None:
                self._kept.move_to_end(digest)
            return kept


@lru_cache(maxsize=8)
def memory_of(fingerprint: str) -> Memory:
    """The memory for a packed model."""
    return Memory()


def keep_prefix(prompt: Sequence[int], output: Sequence[int], server: ServedModel, after: str | None = None) -> str:
    """Keep a prompt and what was sampled for it; returns the digest that stands for both.

    Args:
        prompt: its ids; nobody changes them where they are packed.
        after: the digest of a prompt and output with which this prompt begins.

    Raises:
        Unavailable: the object store failed.
    """
    memory = memory_of(server.model.facts.fingerprint)
    begun = None if after is None else memory.get(after)
    known = 0 if begun is None else len(begun.ids)
    state = hashlib.sha256() if begun is None else begun.state.copy()
    ids = prompt if isinstance(prompt, array) else array("I", prompt)
    ids = ids + array("I", output) if output else ids
    state.update(_bytes(ids[known:] if known else ids))
    kept = Kept(ids, len(prompt), state)
    digest = kept.digest
    memory.put(digest, kept)
    if server.settings.reference_bucket:
        from renderlayer.references.content_store import StoredContent
        from renderlayer.references.writing import content_store_of

        content_store_of(server.settings, server.model).get_or_put(
            StoredContent(_folder(server), digest, 0, lambda: kept.content)
        )
    return digest


def prefix_of(digest: str, server: ServedModel) -> tuple[array[int], array[int]]:
    """The prompt and the output that a digest stands for; nobody may change them.

    Raises:
        NotExtended: nothing is kept under it, or it is not what the digest says.
        Unavailable: the object store failed.
    """
    memory = memory_of(server.model.facts.fingerprint)
    kept = memory.get(digest)
    if kept is None:
        kept = _stored(digest, server)
        if kept is None:
            raise NotExtended("no ids are kept under this prefix")
        memory.put(digest, kept)
    if kept.count == len(kept.ids):
        return kept.ids, array("I")
    return kept.ids[: kept.count], kept.ids[kept.count :]


def _stored(digest: str, server: ServedModel) -> Kept | None:
    """What the object store has under a digest."""
    if not server.settings.reference_bucket:
        return None
    from renderlayer.references.writing import content_store_of

    content = content_store_of(server.settings, server.model).read(_folder(server), digest)
    if not content or len(content) % 4 or hashlib.sha256(content).hexdigest() != digest:
        return None
    *ids, count = _numbers(content)
    return Kept(array("I", ids), count, hashlib.sha256(content[:-4]))


def _folder(server: ServedModel) -> str:
    return f"{server.model.facts.fingerprint}-{FOLDER}"


def _bytes(numbers: array[int]) -> bytes:
    if sys.byteorder == "big":
        numbers = numbers[:]
        numbers.byteswap()
    return numbers.tobytes()


def _numbers(data: bytes) -> array[int]:
    numbers = array("I", data)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers
