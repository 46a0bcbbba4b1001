"""Where referenced payloads are: `s3://bucket/prefix/<fingerprint>/<name>`, and which places may be read."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from renderlayer.errors import BadRequest, ConfigurationError
from renderlayer.settings import Settings

SCHEME = "s3:"
_ADDRESS = re.compile(r"s3://([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])/((?:[A-Za-z0-9_.=-]+/)+)([A-Za-z0-9_-]+)")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}")


@dataclass(frozen=True)
class Address:
    """One object: its bucket, and the three parts of its key."""

    bucket: str
    prefix: str
    fingerprint: str
    name: str

    @property
    def key(self) -> str:
        return "/".join(part for part in (self.prefix, self.fingerprint, self.name) if part)

    def __str__(self) -> str:
        return f"s3://{self.bucket}/{self.key}"

    @classmethod
    def parse(cls, text: str) -> Address:
        """Read a reference.

        Raises:
            BadRequest: it is none; keys with empty or dotted segments are none either.
        """
        match = _ADDRESS.fullmatch(text)
        folders = match[2].rstrip("/").split("/") if match else []
        if match is None or {".", ".."} & set(folders):
            raise BadRequest("A reference has the form s3://bucket/prefix/fingerprint/name.")
        return cls(match[1], "/".join(folders[:-1]), folders[-1], match[3])


@dataclass(frozen=True)
class Place:
    """A bucket and a key prefix; references are written to one and read from some."""

    bucket: str
    prefix: str

    def address(self, fingerprint: str, name: str) -> Address:
        """The address of an object; names that are no plain words (a client's uuid) are hashed."""
        plain = name if _NAME.fullmatch(name) else "sha256-" + hashlib.sha256(name.encode()).hexdigest()
        return Address(self.bucket, self.prefix, fingerprint, plain)

    def holds(self, address: Address) -> bool:
        return address.bucket == self.bucket and f"{address.key}/".startswith(f"{self.prefix}/" if self.prefix else "")


def place_of(settings: Settings) -> Place:
    """Where this deployment writes references.

    Raises:
        ConfigurationError: no bucket is set.
    """
    if not settings.reference_bucket:
        raise ConfigurationError("References need a bucket: set RENDERLAYER_REFERENCE_BUCKET.")
    return Place(settings.reference_bucket, settings.reference_prefix.strip("/"))


def allowed_places(settings: Settings) -> Sequence[Place]:
    """Where references may be read from: those listed, else the place where they are written.

    Raises:
        ConfigurationError: neither a list nor a bucket is set.
    """
    if not settings.reference_allowed:
        return [place_of(settings)]
    pairs = (entry.removeprefix("s3://").partition("/") for entry in settings.reference_allowed)
    return [Place(bucket, prefix.strip("/")) for bucket, _, prefix in pairs]
