"""What an object says of itself in its metadata, and whether that is true."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from renderlayer.storage.objects import Stored


@dataclass(frozen=True)
class PayloadMetadata:
    """The metadata of a payload.

    Args:
        sha256: hex digest of the content.
        size: its bytes.
        fingerprint: of everything that shapes the content beside the input; a part of the address, too.
        model: the packed model's fingerprint.
        length: tokens of the item's placeholder; 0 for a whole request.
    """

    sha256: str
    size: int
    fingerprint: str
    model: str
    length: int

    @classmethod
    def of(cls, data: bytes | bytearray, fingerprint: str, model: str, length: int) -> PayloadMetadata:
        return cls(hashlib.sha256(data).hexdigest(), len(data), fingerprint, model, length)

    @classmethod
    def read(cls, metadata: Mapping[str, str]) -> PayloadMetadata | None:
        """The label in an object's metadata; None when there is none, as on objects that others wrote."""
        try:
            return cls(
                metadata["sha256"],
                int(metadata["size"]),
                metadata["fingerprint"],
                metadata["model"],
                int(metadata["placeholder-length"]),
            )
        except (KeyError, ValueError):
            return None

    def metadata(self) -> dict[str, str]:
        return {
            "sha256": self.sha256,
            "size": str(self.size),
            "fingerprint": self.fingerprint,
            "model": self.model,
            "placeholder-length": str(self.length),
        }


def integrity_error(stored: Stored, fingerprint: str) -> str | None:
    """What is wrong with an object at an address of that fingerprint, as far as its description tells; None if sound.

    The store's own digest shows a content that was replaced together with a copied label.
    """
    label = PayloadMetadata.read(stored.metadata)
    if label is None:
        return "was not written as a payload"
    if label.fingerprint != fingerprint:
        return "has another fingerprint than its address"
    if label.size != stored.size:
        return f"has {stored.size} bytes where {label.size} were written"
    if stored.sha256 not in (None, label.sha256):
        return "does not match its checksum"
    return None
