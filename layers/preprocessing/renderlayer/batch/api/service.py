"""Batches of the API: made, looked at, listed and cancelled, by writing to the bucket alone."""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from renderlayer.batch.storage import keys, status
from renderlayer.batch.storage.status import Batch
from renderlayer.errors import BadRequest, InvalidRequest, NotFound
from renderlayer.storage.bucket import Bucket

_ID = re.compile(r"batch_[0-9a-f]{32}")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_WINDOW = re.compile(r"([1-9][0-9]{0,2})h")
MOST_METADATA = 16
LONGEST_KEY, LONGEST_VALUE = 64, 512
"""Characters of metadata, as in OpenAI's API; the batch object is written anew with every step."""

Json = dict[str, Any]


@dataclass(frozen=True)
class BatchService:
    """Batches of a bucket; `urls`: what their endpoint may be."""

    bucket: Bucket
    urls: Collection[str]

    def create(self, body: Any) -> Batch:
        """Begin a batch: its object, and then the order whose arrival starts the work.

        Args:
            body: input_file_id, endpoint, completion_window such as "24h", metadata.

        Raises:
            BadRequest: a field is missing or wrong.
            NotFound: there is no such file.
        """
        given = body if isinstance(body, dict) else {}
        file_id, endpoint, metadata = (given.get(name) for name in ("input_file_id", "endpoint", "metadata"))
        if not isinstance(file_id, str):
            raise InvalidRequest("input_file_id must be the id of a file.", "input_file_id")
        if not isinstance(endpoint, str) or endpoint not in self.urls:
            raise InvalidRequest(f"endpoint must be one of {', '.join(sorted(self.urls))}.", "endpoint")
        window = _WINDOW.fullmatch(str(given.get("completion_window")))
        if window is None:
            raise InvalidRequest("completion_window must be a number of hours, such as 24h.", "completion_window")
        if metadata is not None and not _is_metadata(metadata):
            raise InvalidRequest(
                f"metadata must be at most {MOST_METADATA} pairs of texts, "
                f"of at most {LONGEST_KEY} and {LONGEST_VALUE} characters.",
                "metadata",
            )
        if self.bucket.head(keys.key_of(file_id)) is None:
            raise NotFound(f"No such File object: {file_id[:100]}", "input_file_id")
        now = int(time.time())
        batch = status.new(
            keys.batch_id(now),
            file_id,
            now,
            now + int(window[1]) * 3600,
            endpoint,
            completion_window=window[0],
            metadata=metadata,
        )
        status.begin(self.bucket, batch)
        self.bucket.write(f"{keys.INBOX}{batch['id']}{keys.ORDER}", batch["id"].encode())
        return batch

    def retrieve(self, batch: str) -> Batch:
        """The batch object.

        Raises:
            NotFound: there is no such batch.
        """
        found = status.read(self.bucket, batch) if _ID.fullmatch(batch) else None
        if found is None:
            raise _unknown(batch)
        return found

    def cancel(self, batch: str) -> Batch:
        """Let lines that are not begun fail; those that are done stay.

        Raises:
            NotFound: there is no such batch.
            BadRequest: it has ended.
        """
        before = self.retrieve(batch)
        if status.RANKS[before["status"]] == status.ENDED:
            raise BadRequest(f"Cannot cancel a batch with status '{before['status']}'.")
        self.bucket.create(keys.cancelled(batch), b"")
        return status.update(self.bucket, batch, lambda now: status.advanced(now, "cancelling")) or before

    def listed(self, after: str | None) -> Iterator[Batch]:
        """Batches, newest first, those behind the batch `after`.

        Raises:
            BadRequest: `after` is no batch's id.
        """
        if after and not _ID.fullmatch(after):
            raise InvalidRequest("after must be the id of a batch.", "after")
        for entry in self.bucket.entries(keys.STATUSES, keys.status(after) if after else ""):
            batch = entry.key.removeprefix(keys.STATUSES).removesuffix(".json")
            found = status.read(self.bucket, batch)
            if found is not None:
                yield found


def _unknown(batch: str) -> NotFound:
    return NotFound(f"No batch found with id '{batch[:100]}'.", "batch_id")


def _is_metadata(value: Any) -> bool:
    if not isinstance(value, dict) or len(value) > MOST_METADATA:
        return False
    return all(_is_text(key, LONGEST_KEY) and _is_text(text, LONGEST_VALUE) for key, text in value.items())


def _is_text(value: Any, longest: int) -> bool:
    return isinstance(value, str) and len(value) <= longest and not _LONE_SURROGATE.search(value)
