"""The end of a batch that cannot go on."""

from __future__ import annotations

from typing import Any

import orjson

from renderlayer.batch.storage import keys, status
from renderlayer.storage.bucket import Bucket

INVALID_FILE, SERVER_ERROR = "invalid_file", "server_error"
INPUT_GONE = "The input file was replaced or removed while it was read."


def fail(bucket: Bucket, batch: str, code: str, message: str) -> None:
    """End a batch as failed, with an error file that says why; one that has ended stays as it is."""
    error: dict[str, Any] = {"code": code, "message": message, "line": None, "param": None}
    row = {"id": None, "custom_id": None, "response": None, "error": error}
    bucket.create(keys.errors(batch), orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))
    fields: dict[str, Any] = {
        "errors": {"object": "list", "data": [error]},
        "error_file_id": keys.file_id(keys.errors(batch)),
    }
    status.update(bucket, batch, lambda now: status.advanced(now, "failed", **fields))
