"""Items that clients may name again by uuid alone: the encoded bytes that this process saw last.

The reference keeps processed items for this; what a client sends is a fraction of their size. A process that has not
seen the item answers with a cache miss, as the reference does, and the client sends it again.
"""

from __future__ import annotations

import threading
from collections import OrderedDict

from renderlayer.multimodal.items import Content

CAPACITY = 64 << 20  # bytes of content in all

_lock = threading.Lock()
_contents: OrderedDict[tuple[str, str], Content] = OrderedDict()


def keep(modality: str, uuid: str, content: Content) -> None:
    """Remember an item; the least recently used ones give way, and one that alone exceeds the capacity is not kept."""
    with _lock:
        _contents.pop((modality, uuid), None)
        if len(content.data) > CAPACITY:
            return
        _contents[modality, uuid] = content
        size = sum(len(kept.data) for kept in _contents.values())
        while size > CAPACITY:
            size -= len(_contents.popitem(last=False)[1].data)


def find(modality: str, uuid: str) -> Content | None:
    """The item's content, None when it is not known here."""
    with _lock:
        content = _contents.get((modality, uuid))
        if content is not None:
            _contents.move_to_end((modality, uuid))
        return content
