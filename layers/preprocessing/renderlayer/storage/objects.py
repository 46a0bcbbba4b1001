"""The seam to object storage: what its users need of a store, and what it says of an object."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol


class Location(Protocol):
    """Where an object is."""

    @property
    def bucket(self) -> str: ...

    @property
    def key(self) -> str: ...


class Gone(Exception):
    """The object is not there, or no longer the one that was described."""


class Conflict(Gone):
    """Another writer was under way at the same time; whether it has written is not known."""


@dataclass(frozen=True)
class Stored:
    """What a store says of an object.

    Args:
        size: its bytes.
        etag: names this version of it.
        modified: when it was written, in seconds since the epoch.
        sha256: hex digest of the content as the store computed it; None where it computed none.
        metadata: what the writer said of it.
    """

    size: int
    etag: str
    modified: float
    sha256: str | None
    metadata: Mapping[str, str]


class ObjectStore(Protocol):
    """Objects in buckets. Every call is blocking and safe from several threads.

    Raises (all calls):
        Unavailable: the store is down, slow, or refuses this process.
    """

    def describe(self, location: Location) -> Stored | None:
        """What is known of an object; None when there is none."""

    def put(
        self,
        location: Location,
        data: bytes | bytearray,
        sha256: bytes,
        metadata: Mapping[str, str],
        replaces: Stored | None = None,
    ) -> bool:
        """Write an object at once and as a whole, or not at all.

        Args:
            sha256: digest of `data`, by which the store checks what arrived.
            replaces: the version that it takes the place of; None: there must be none.

        Returns:
            False when there is another version by now, which is left as it is.
        """

    def renew(self, location: Location, stored: Stored) -> bool:
        """Make the object as young as if it had been written now; False when it is gone or another."""

    def read(self, location: Location, stored: Stored) -> Iterator[bytes]:
        """The content of that version, in pieces.

        Raises:
            Gone: there is no such version (any more).
        """
