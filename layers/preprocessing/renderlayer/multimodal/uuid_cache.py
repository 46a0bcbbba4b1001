"""Items that clients may name again by uuid alone: the encoded bytes that this process saw last.

The reference keeps processed items for this; what a client sends is a fraction of their size. A process that has not
seen the item answers with a cache miss, as the reference does, and the client sends it again.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Literal

from cachetools import LRUCache

from renderlayer.multimodal.items import EncodedMedia

CAPACITY = 64 << 20  # bytes of all items, their names and what surrounds them

Name = tuple[str, str]
Outcome = Literal["hit", "miss"]

observers: list[Callable[[Outcome | None, int], None]] = []
"""What is told how look-ups end (None: an item was kept), and how many bytes are held; empty where nobody counts."""


class Recent:
    """Items by (modality, uuid), the least recently used of which give way.

    Args:
        capacity: bytes of all together; an item that alone has more is not kept.
    """

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._lock = threading.Lock()
        self._items: LRUCache[Name, tuple[EncodedMedia, int]] = LRUCache(capacity, getsizeof=lambda item: item[1])

    def keep(self, modality: str, uuid: str, content: EncodedMedia) -> None:
        """Remember an item."""
        name = (modality, uuid)
        size = sum(map(sys.getsizeof, (name, uuid, content, content.data, content.media_type))) + _OVERHEAD
        with self._lock:
            self._items.pop(name, None)
            if size <= self._items.maxsize:
                self._items[name] = content, size
            held = self._items.currsize
        _tell(None, held)

    def find(self, modality: str, uuid: str) -> EncodedMedia | None:
        """The item's content, None when it is not known here."""
        with self._lock:
            found = self._items.get((modality, uuid))
            held = self._items.currsize
        _tell("hit" if found else "miss", held)
        return found[0] if found else None


def _tell(outcome: Outcome | None, held: float) -> None:
    for observer in observers:
        observer(outcome, int(held))


_OVERHEAD = 500  # bytes of an item's places in the tables
_recent = Recent()
keep, find = _recent.keep, _recent.find
