"""What stands in an item's slot of `kwargs_data`: base64 by default, or whatever a writer puts there.

A writer that stores payloads elsewhere computes the tensors only when it does not have them yet.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from renderlayer.request_context import payloads_are_bytes


@dataclass(frozen=True)
class Slot:
    """One item whose payload is wanted.

    Args:
        modality: "image", "video" or "audio".
        mm_hash: the item's hash on the wire.
        fingerprint: covers everything beside the hash that changes the payload; hash and fingerprint address it.
        length: number of tokens of the item's placeholder.
        compute: computes the payload, a MessagePack item (wire.md 4.7); takes as long as decoding does.
    """

    modality: str
    mm_hash: str
    fingerprint: str
    length: int
    compute: Callable[[], bytearray]


Writer = Callable[[Slot], str | bytes]


def inline(slot: Slot) -> str:
    """The payload itself, in base64."""
    from pybase64 import b64encode_as_string

    return str(b64encode_as_string(slot.compute()))


def in_place() -> Writer:
    """The writer of payloads that stay where they are: `inline`, or one of ASCII bytes where they are asked for."""
    return _encoded if payloads_are_bytes() else inline


def _encoded(slot: Slot) -> bytes:
    from pybase64 import b64encode

    return bytes(b64encode(slot.compute()))
