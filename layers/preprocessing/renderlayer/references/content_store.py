"""Payloads in object storage, each stored once under its content address; computed only when it is not there."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass

from renderlayer.errors import Unavailable
from renderlayer.references.address import Address, Place
from renderlayer.references.payload_metadata import PayloadMetadata, integrity_error
from renderlayer.references.single_flight import SingleFlight
from renderlayer.storage.objects import Gone, ObjectStore, Stored

Data = bytes | bytearray

_DAY = 86_400
_ROUNDS = 3
_REMEMBERED = 10_000  # versions of objects that were read and right


@dataclass(frozen=True)
class StoredContent:
    """What belongs in the store.

    Args:
        fingerprint, name: its address within the place.
        length: tokens of its placeholder; 0 for a whole request.
        compute: makes the bytes; the same ones for the same address.
    """

    fingerprint: str
    name: str
    length: int
    compute: Callable[[], Data]


class ContentStore:
    """The writing side of references.

    Args:
        store, place: where objects go.
        model: the packed model's fingerprint, which every label carries.
        days: after how many days the bucket's lifecycle rule removes an object. One that is older than half of that
            is renewed before its address is handed out, so that a reference lives at least the other half.
        clock: seconds since the epoch.
    """

    def __init__(
        self, store: ObjectStore, place: Place, model: str, days: float, clock: Callable[[], float] = time.time
    ) -> None:
        self._store = store
        self._place = place
        self._model = model
        self._old = days * _DAY / 2
        self._clock = clock
        self._read: dict[tuple[Address, str], None] = {}
        self._flights: SingleFlight[Address | Data] = SingleFlight()

    def get_or_put(self, content: StoredContent, small: int = 0) -> Address | Data:
        """See to it that the content is in the store.

        Args:
            small: contents of at most so many bytes are given back, and not stored.

        Returns:
            The address, or the bytes themselves.

        Raises:
            Unavailable: the store failed.
            RenderLayerError: what computing raised.
        """
        address = self._place.address(content.fingerprint, content.name)
        return self._flights.join(f"{small} {address}", lambda: self._kept(address, content, small))

    def read(self, fingerprint: str, name: str) -> bytes | None:
        """The content at an address; None where there is none. Whether it is right is for the caller to tell.

        Raises:
            Unavailable: the store failed.
        """
        address = self._place.address(fingerprint, name)
        stored = self._store.describe(address)
        if stored is None:
            return None
        try:
            return b"".join(self._store.read(address, stored))
        except Gone:
            return None

    def _kept(self, address: Address, content: StoredContent, small: int) -> Address | Data:
        data: Data | None = None
        for _ in range(_ROUNDS):
            stored = self._store.describe(address)
            sound = stored is not None and self._is_sound(address, stored)
            if stored is not None and sound and stored.size > small and self._lasts(address, stored):
                return address
            if data is None:
                data = content.compute()
            if len(data) <= small:
                return data
            if self._put(address, data, content.length, None if sound else stored):
                return address
        raise Unavailable("A payload could not be stored. Try again.")

    def _is_sound(self, address: Address, stored: Stored) -> bool:
        """Whether the object is what was written. Where the store has no digest of it, it is read, once a version."""
        if integrity_error(stored, address.fingerprint) is not None:
            return False
        version = address, stored.etag
        if stored.sha256 is None and version not in self._read:
            label, digest = PayloadMetadata.read(stored.metadata), hashlib.sha256()
            try:
                for piece in self._store.read(address, stored):
                    digest.update(piece)
            except Gone:
                return False
            if label is None or digest.hexdigest() != label.sha256:
                return False
            self._read[version] = None
            if len(self._read) > _REMEMBERED:
                self._read.pop(next(iter(self._read)), None)
        return True

    def _lasts(self, address: Address, stored: Stored) -> bool:
        """Whether the object is young enough, or could be renewed; False when it is gone meanwhile."""
        return self._clock() - stored.modified < self._old or self._store.renew(address, stored)

    def _put(self, address: Address, data: Data, length: int, flawed: Stored | None) -> bool:
        """Write, in place of a flawed object if there is one; False when somebody else was first: look again."""
        label = PayloadMetadata.of(data, address.fingerprint, self._model, length)
        return self._store.put(address, data, bytes.fromhex(label.sha256), label.metadata(), flawed)
