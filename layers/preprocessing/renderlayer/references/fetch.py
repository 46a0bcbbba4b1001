"""One object out of the store, verified while it arrives and turned into base64 piece by piece."""

from __future__ import annotations

import base64
import hashlib
import time
from collections.abc import Callable, Iterator

from renderlayer.errors import Unavailable
from renderlayer.references.address import Address
from renderlayer.references.payload_metadata import PayloadMetadata, integrity_error
from renderlayer.storage.objects import Gone, ObjectStore, Stored

Pieces = list[bytes]


class Flawed(Exception):
    """The object is there and not what its address promises; the text says why, as the end of a sentence."""


def describe(store: ObjectStore, address: Address, model: str) -> Stored:
    """Look at an object before any of it is read.

    Args:
        model: the fingerprint of the model that it must be made for; "" for any.

    Raises:
        Gone: it is not there.
        Flawed: it is something else.
        Unavailable: the store failed.
    """
    stored = store.describe(address)
    if stored is None:
        raise Gone
    reason = integrity_error(stored, address.fingerprint)
    label = PayloadMetadata.read(stored.metadata)
    if reason is None and model and label is not None and label.model != model:
        reason = "was made for another model than this engine's"
    if reason is not None:
        raise Flawed(reason)
    return stored


def as_base64(store: ObjectStore, address: Address, stored: Stored, deadline: float) -> Pieces:
    """The content in base64 (standard alphabet, padded).

    Args:
        deadline: when to give up, on the clock of `time.monotonic`.

    Raises:
        Gone: it is not there any more.
        Flawed: the content is not what was written.
        Unavailable: the store failed or is too slow.
    """
    encode = encoder()
    pieces, rest = Pieces(), b""
    for piece in _verified(store, address, stored, deadline):
        whole = rest + piece if rest else piece
        cut = len(whole) - len(whole) % 3
        rest = whole[cut:]
        pieces.append(encode(whole[:cut] if rest else whole))
    if rest:
        pieces.append(encode(rest))
    return pieces


def as_bytes(store: ObjectStore, address: Address, stored: Stored, deadline: float) -> bytes:
    """The content as it is; otherwise like `as_base64`."""
    return b"".join(_verified(store, address, stored, deadline))


def base64_size(size: int) -> int:
    """Characters that so many bytes take in base64."""
    return (size + 2) // 3 * 4


def encoder() -> Callable[[bytes], bytes]:
    """The fastest base64 encoder that is installed."""
    try:
        from pybase64 import b64encode as vectorized
    except ImportError:
        return base64.b64encode
    return vectorized


def _verified(store: ObjectStore, address: Address, stored: Stored, deadline: float) -> Iterator[bytes]:
    """The pieces of an object; after the last one, its digest has been checked."""
    digest = hashlib.sha256()
    for piece in store.read(address, stored):
        if time.monotonic() > deadline:
            raise Unavailable("The object store is too slow. Try again.")
        digest.update(piece)
        yield piece
    label = PayloadMetadata.read(stored.metadata)
    if label is None or digest.hexdigest() != label.sha256:
        raise Flawed("does not match its checksum")
