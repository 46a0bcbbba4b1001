"""The batch object (OpenAI's), kept in the bucket: it only ever moves forward, whoever writes it and however often."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypedDict, cast

import orjson

from renderlayer.batch.storage import keys
from renderlayer.errors import Unavailable
from renderlayer.storage.bucket import Bucket

Json = dict[str, Any]


class RequestCounts(TypedDict):
    """Lines of a batch: all of them, and how they ended."""

    total: int
    completed: int
    failed: int


class Batch(TypedDict):
    """A batch as OpenAI's API shows it; times in seconds since the epoch, None for what has not happened."""

    id: str
    object: str
    endpoint: str
    errors: Json | None
    input_file_id: str
    completion_window: str
    status: str
    output_file_id: str | None
    error_file_id: str | None
    created_at: int
    in_progress_at: int | None
    expires_at: int
    finalizing_at: int | None
    completed_at: int | None
    failed_at: int | None
    expired_at: int | None
    cancelling_at: int | None
    cancelled_at: int | None
    request_counts: RequestCounts
    metadata: dict[str, str] | None


RANKS = {
    "validating": 0,
    "in_progress": 1,
    "cancelling": 2,
    "finalizing": 3,
    "completed": 4,
    "failed": 4,
    "expired": 4,
    "cancelled": 4,
}
ENDED = 4
TRIES = 20
"""Attempts to write over a version that others write over, too."""


def new(batch: str, input_file: str, created: int, expires_at: int, endpoint: str, **given: Any) -> Batch:
    """A batch that has just been made; `given` are completion_window and metadata."""
    return {
        "id": batch,
        "object": "batch",
        "endpoint": endpoint,
        "errors": None,
        "input_file_id": input_file,
        "completion_window": given.get("completion_window") or "24h",
        "status": "validating",
        "output_file_id": None,
        "error_file_id": None,
        "created_at": created,
        "in_progress_at": None,
        "expires_at": expires_at,
        "finalizing_at": None,
        "completed_at": None,
        "failed_at": None,
        "expired_at": None,
        "cancelling_at": None,
        "cancelled_at": None,
        "request_counts": {"total": 0, "completed": 0, "failed": 0},
        "metadata": given.get("metadata"),
    }


def advanced(current: Batch, status: str | None = None, counts: Json | None = None, **fields: Any) -> Batch:
    """The batch with what is new about it. What would set it back is left out: messages come twice and out of order.

    Args:
        status: its status, whose time is noted.
        counts: some of total, completed and failed.
        fields: errors, output_file_id, error_file_id.
    """
    if RANKS[current["status"]] == ENDED:
        return current
    out: Json = {**current, **fields}
    if status is not None and RANKS[status] > RANKS[current["status"]]:
        out["status"] = status
        out[f"{status}_at"] = int(time.time())
    known: Json = {**current["request_counts"]}
    out["request_counts"] = {name: max(known[name], (counts or {}).get(name, 0)) for name in known}
    return cast("Batch", out)


def read(bucket: Bucket, batch: str) -> Batch | None:
    """The batch object; None when there is none."""
    found = bucket.get(keys.status(batch))
    return None if found is None else orjson.loads(found[0])


def begin(bucket: Bucket, batch: Batch) -> None:
    """Write a new batch, unless it is known already."""
    bucket.create(keys.status(batch["id"]), _dumped(batch))


def update(bucket: Bucket, batch: str, change: Callable[[Batch], Batch]) -> Batch | None:
    """Change the batch object, whatever others do to it meanwhile; what it is now, None when there is none.

    Raises:
        Unavailable: others write over it all the time.
    """
    key = keys.status(batch)
    for _ in range(TRIES):
        found = bucket.get(key)
        if found is None:
            return None
        current: Batch = orjson.loads(found[0])
        wanted = change(current)
        if wanted == current or bucket.write(key, _dumped(wanted), replaces=found[1]):
            return wanted
    raise Unavailable("The batch is being written by others. Try again.")


def _dumped(batch: Batch) -> bytes:
    return orjson.dumps(batch, option=orjson.OPT_INDENT_2)
