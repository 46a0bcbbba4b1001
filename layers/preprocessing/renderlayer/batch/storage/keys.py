"""Where things are in the bucket.

    batches/in/<name>                      a dropped file, or an order of the API: its arrival starts a batch
    batches/files/<hex>                    files uploaded through the API
    batches/uploads/<hex>/upload.json      an upload in parts; what it makes is the file of the same name
    batches/uploads/<hex>/<part>           its parts, until it is completed or cancelled
    batches/status/<batch>.json            the batch object, kept up to date
    batches/parts/<batch>/<shard>          results of a shard: output lines, then error lines
    batches/parts/<batch>/manifest.json    how many shards there are, once the file is split
    batches/parts/<batch>/upload.json      the upload of a joining that takes longer than a function may
    batches/work/<batch>/…                 what an interrupted step has done so far; removed by the lifecycle rule
    batches/out/<batch>/{output,errors}.jsonl

Names of batches sort newest first. A file's id is its key, encoded.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import re
from typing import Any
from urllib.parse import unquote_plus

from renderlayer.errors import NotFound

ROOT = "batches/"
INBOX = f"{ROOT}in/"
FILES = f"{ROOT}files/"
UPLOADS = f"{ROOT}uploads/"
STATUSES = f"{ROOT}status/"
PARTS = f"{ROOT}parts/"
RESULTS = f"{ROOT}out/"
ORDER = ".order"
MANIFEST = "manifest.json"
UPLOAD = "upload.json"

_ORDER_KEY = re.compile(rf"{re.escape(INBOX)}(batch_[0-9a-f]{{32}}){re.escape(ORDER)}")
_READABLE = (INBOX, FILES, RESULTS)
_FILE_ID = "file-"
_LATEST = 1 << 40


def batch_id(created: float, digest_of: str | None = None) -> str:
    """A new batch's id, or the one that the same time and text always give."""
    text = os.urandom(16) if digest_of is None else hashlib.sha256(digest_of.encode()).digest()
    return f"batch_{_LATEST - int(created):010x}{text[:11].hex()}"


def status(batch: str) -> str:
    return f"{STATUSES}{batch}.json"


def parts(batch: str) -> str:
    """Prefix of a batch's parts."""
    return f"{PARTS}{batch}/"


def part(batch: str, shard: int) -> str:
    return f"{parts(batch)}{shard:09d}"


def manifest(batch: str) -> str:
    return parts(batch) + MANIFEST


def in_event(message: dict[str, Any]) -> list[str]:
    """Keys of the objects that an event of S3 tells of; its test event tells of none."""
    return [unquote_plus(record["s3"]["object"]["key"]) for record in message.get("Records", ())]


def ordered(key: str) -> str | None:
    """The batch that an order of the API is for; None for a dropped file, whatever its name ends with."""
    found = _ORDER_KEY.fullmatch(key)
    return found[1] if found else None


def upload(batch: str) -> str:
    """Among the parts, because its arrival goes on with the joining as theirs does."""
    return parts(batch) + UPLOAD


def unfinished(batch: str, shard: int) -> str:
    return f"{ROOT}work/{batch}/shard-{shard:09d}"


def fingerprints(batch: str, shard: int, stripe: int) -> str:
    return f"{ROOT}work/{batch}/fingerprints-{shard:09d}-{stripe:02d}"


def progress(batch: str) -> str:
    return f"{ROOT}work/{batch}/progress.json"


def cancelled(batch: str) -> str:
    return f"{ROOT}work/{batch}/cancelled"


def output(batch: str) -> str:
    return f"{RESULTS}{batch}/output.jsonl"


def errors(batch: str) -> str:
    return f"{RESULTS}{batch}/errors.jsonl"


def batch_of(part_key: str) -> str:
    """The batch that a part or a manifest belongs to."""
    return part_key.removeprefix(PARTS).partition("/")[0]


def file_id(key: str) -> str:
    """The id under which an object is a file of the API."""
    return _FILE_ID + base64.urlsafe_b64encode(key.removeprefix(ROOT).encode()).decode().rstrip("=")


def key_of(file_id: str) -> str:
    """The object that a file id stands for.

    Raises:
        NotFound: it stands for none that may be read.
    """
    encoded = file_id.removeprefix(_FILE_ID)
    try:
        key = ROOT + base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode()
    except (binascii.Error, UnicodeDecodeError, UnicodeEncodeError, ValueError):
        key = ""
    if not file_id.startswith(_FILE_ID) or not key.startswith(_READABLE):
        raise NotFound(f"No such File object: {file_id[:100]}", "id")
    return key
