"""Files of the API: objects of the bucket under ids, as OpenAI's Files API shows them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

from renderlayer.batch.storage import keys
from renderlayer.errors import NotFound
from renderlayer.storage.bucket import Bucket
from renderlayer.storage.objects import Stored

BATCH, OUTPUT = "batch", "batch_output"
LONGEST_NAME = 1_000
"""Bytes of a file's name as it is stored."""
LINK_SECONDS = 300
"""How long a link to a file's content works."""

Json = dict[str, Any]


@dataclass(frozen=True)
class Files:
    """Files of a bucket."""

    bucket: Bucket

    def add(self, name: str, content: bytes) -> Json:
        """Keep a new input file."""
        key = keys.FILES + os.urandom(12).hex()
        self.bucket.create(key, content, {"filename": stored_name(name)})
        return self.describe(keys.file_id(key))

    def describe(self, file_id: str) -> Json:
        """The file object.

        Raises:
            NotFound: there is no such file.
        """
        key, stored = self._found(file_id)
        name = unquote(stored.metadata.get("filename", "")) or key.rpartition("/")[2]
        return _shown(key, name, stored.size, stored.modified)

    def content(self, file_id: str, most: int) -> bytes | str:
        """A file's content, or where it can be had for some minutes when it has more than `most` bytes (0: any).

        Raises:
            NotFound: there is no such file.
        """
        key, stored = self._found(file_id)
        if most and stored.size > most:
            return self.bucket.link(key, LINK_SECONDS)
        found = self.bucket.get(key)
        if found is None:
            raise _unknown(file_id)
        return found[0]

    def remove(self, file_id: str) -> Json:
        """Remove a file, with all of its versions.

        Raises:
            NotFound: there is no such file.
        """
        key, _ = self._found(file_id)
        self.bucket.erase(key)
        return {"id": file_id, "object": "file", "deleted": True}

    def listed(self, after: str | None) -> Iterator[Json]:
        """Uploaded files by key, those behind the file `after`; their names are told by `describe` alone."""
        for entry in self.bucket.entries(keys.FILES, keys.key_of(after) if after else ""):
            yield _shown(entry.key, entry.key.rpartition("/")[2], entry.size, entry.modified)

    def _found(self, file_id: str) -> tuple[str, Stored]:
        key = keys.key_of(file_id)
        stored = self.bucket.head(key)
        if stored is None:
            raise _unknown(file_id)
        return key, stored


def stored_name(name: str) -> str:
    """A file's name as metadata, which S3 limits to 2 KB for all of an object's: its end is cut off."""
    while len(quoted := quote(name, errors="replace")) > LONGEST_NAME:
        name = name[: max(len(name) * LONGEST_NAME // len(quoted), 1)][:-1] or "file"
    return quoted


def _unknown(file_id: str) -> NotFound:
    return NotFound(f"No such File object: {file_id[:100]}", "id")


def _shown(key: str, name: str, size: int, modified: float) -> Json:
    return {
        "id": keys.file_id(key),
        "object": "file",
        "bytes": size,
        "created_at": int(modified),
        "expires_at": None,
        "filename": name,
        "purpose": OUTPUT if key.startswith(keys.RESULTS) else BATCH,
        "status": "processed",
    }
