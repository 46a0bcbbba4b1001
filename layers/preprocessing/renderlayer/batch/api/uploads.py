"""Files that come in parts, as OpenAI's Uploads API has them: for files above what one request can carry."""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import orjson

from renderlayer.batch.api.files import BATCH, Files, stored_name
from renderlayer.batch.steps.assembly import Pace, Segment, assemble
from renderlayer.batch.storage import keys
from renderlayer.errors import BadRequest, InvalidRequest, NotFound, Unavailable
from renderlayer.storage.bucket import Bucket, Source
from renderlayer.storage.objects import Gone

SECONDS = 3600
"""How long an upload takes parts, as in OpenAI's API."""
LARGEST = 8 << 30
"""Bytes of a file, as in OpenAI's API."""
MOST_PARTS = 10_000
TRIES = 3
"""Attempts to note how an upload has ended, while others write, too."""
PACE = Pace(reserve=12, at_once=8)
"""Pieces of twice the largest part of a deployed stack, so that a look at the clock comes every 70 MB."""

_UPLOAD = re.compile(r"upload_([0-9a-f]{24})")
_PART = re.compile(r"part_([0-9a-f]{32})")
_PUBLIC = ("id", "object", "bytes", "created_at", "expires_at", "filename", "purpose", "status")

Json = dict[str, Any]


@dataclass(frozen=True)
class Uploads:
    """Uploads of a bucket."""

    bucket: Bucket

    def create(self, body: Any) -> Json:
        """Begin an upload.

        Args:
            body: bytes (of the whole file), filename, mime_type, purpose.

        Returns:
            The upload object, `pending`.

        Raises:
            InvalidRequest: a field is missing or wrong.
        """
        given = body if isinstance(body, dict) else {}
        size, name = given.get("bytes"), given.get("filename")
        if not isinstance(size, int) or isinstance(size, bool) or not 0 < size <= LARGEST:
            raise InvalidRequest(f"bytes must be the size of the file, from 1 to {LARGEST}.", "bytes")
        if not isinstance(name, str) or not name:
            raise InvalidRequest("filename must be a text.", "filename")
        if not isinstance(given.get("mime_type"), str):
            raise InvalidRequest("mime_type must be a text, such as application/jsonl.", "mime_type")
        if given.get("purpose") != BATCH:
            raise InvalidRequest(f"purpose must be '{BATCH}'.", "purpose")
        now, token = int(time.time()), os.urandom(12).hex()
        upload: Json = {
            "id": f"upload_{token}",
            "object": "upload",
            "bytes": size,
            "created_at": now,
            "expires_at": now + SECONDS,
            "filename": stored_name(name),
            "purpose": BATCH,
            "status": "pending",
        }
        self.bucket.create(_note(token), orjson.dumps(upload))
        return self._shown(upload)

    def add(self, upload_id: str, data: bytes) -> Json:
        """Keep a part.

        Returns:
            The part object.

        Raises:
            NotFound: there is no such upload.
            BadRequest: the upload takes no parts any more, or the part is empty.
        """
        token, upload, _ = self._found(upload_id)
        _require_pending(upload)
        if not data:
            raise InvalidRequest("data must not be empty.", "data")
        if len(data) > upload["bytes"]:
            raise InvalidRequest(f"The part is larger than the {upload['bytes']} bytes of the upload.", "data")
        now, part = int(time.time()), os.urandom(16).hex()
        self.bucket.create(_folder(token) + part, data)
        return {"id": f"part_{part}", "object": "upload.part", "created_at": now, "upload_id": upload_id}

    def complete(self, upload_id: str, body: Any, time_left: Callable[[], float]) -> Json:
        """Make a file of parts.

        A completion that is called again goes on where the time of the one before ended, and gives the same file.

        Args:
            body: part_ids in the order of the file, and its md5 where it is to be checked.
            time_left: seconds until the answer has to be there.

        Returns:
            The upload object, `completed`, with its file.

        Raises:
            NotFound: there is no such upload.
            BadRequest: the parts are unknown or do not make the file that was announced; it has ended otherwise.
            Unavailable: the time was too short; call again.
        """
        given = body if isinstance(body, dict) else {}
        token, upload, etag = self._found(upload_id)
        if upload["status"] != "completed":
            _require_pending(upload)
            segments = self._segments(token, upload, given.get("part_ids"))
            self._check_digest(segments, given.get("md5"), time_left)
            self._assemble(token, upload, etag, segments, time_left)
            upload = self._end(token, upload_id, "completed")
        self.bucket.erase_under(_folder(token), _note(token))
        return self._shown(upload)

    def cancel(self, upload_id: str) -> Json:
        """Drop an upload and its parts.

        Raises:
            NotFound: there is no such upload.
            BadRequest: it has ended.
        """
        token, _, _ = self._found(upload_id)
        upload = self._end(token, upload_id, "cancelled")
        if begun := upload.get("assembly"):
            self.bucket.abort(_file(token), begun["upload"])
        self.bucket.erase_under(_folder(token), _note(token))
        return self._shown(upload)

    def _segments(self, token: str, upload: Json, part_ids: Any) -> list[Segment]:
        """The parts in order.

        Raises:
            InvalidRequest: they are not parts of this upload, or have another size together.
        """
        if not isinstance(part_ids, list) or not 0 < len(part_ids) <= MOST_PARTS:
            raise InvalidRequest(f"part_ids must be a list of the parts' ids, at most {MOST_PARTS}.", "part_ids")
        folder = _folder(token)
        sizes = {entry.key.removeprefix(folder): entry.size for entry in self.bucket.entries(folder)}
        segments = []
        for part_id in part_ids:
            part = _PART.fullmatch(part_id) if isinstance(part_id, str) else None
            if part is None or part[1] not in sizes:
                raise InvalidRequest(f"No such part of this upload: {str(part_id)[:100]}", "part_ids")
            segments.append(Segment(folder + part[1], 0, sizes[part[1]]))
        total = sum(segment.size for segment in segments)
        if total != upload["bytes"]:
            text = f"The parts have {total} bytes, but the upload was announced with {upload['bytes']}."
            raise InvalidRequest(text, "part_ids")
        return segments

    def _check_digest(self, segments: list[Segment], md5: Any, time_left: Callable[[], float]) -> None:
        """Read the parts when there is something to compare with.

        Raises:
            InvalidRequest: the digest is another, or the time is too short to see.
        """
        if md5 is None:
            return
        digest = hashlib.md5(usedforsecurity=False)
        for segment in segments:
            if time_left() < PACE.reserve:
                raise InvalidRequest("The file is too large to check its md5 within a request; leave it out.", "md5")
            digest.update(self.bucket.range(Source(segment.key, ""), 0, segment.size))
        if not isinstance(md5, str) or md5.lower() != digest.hexdigest():
            raise InvalidRequest("md5 is not that of the parts in this order.", "md5")

    def _assemble(
        self, token: str, upload: Json, etag: str, segments: list[Segment], time_left: Callable[[], float]
    ) -> None:
        order = hashlib.sha256("\n".join(segment.key for segment in segments).encode()).hexdigest()
        if self.bucket.head(_file(token)) is not None:
            return
        begun = upload.get("assembly") or {}
        before = begun.get("upload") if begun.get("order") == order else None
        metadata = {"filename": upload["filename"]}
        try:
            rest = assemble(self.bucket, _file(token), segments, time_left, before, metadata, PACE)
        except Gone:
            raise Unavailable("The parts were being joined by another request. Try again.") from None
        if rest is None:
            return
        if rest != before:
            noted = {**upload, "assembly": {"upload": rest, "order": order}}
            self.bucket.write(_note(token), orjson.dumps(noted), replaces=etag)
        raise Unavailable("The file is not joined yet: complete the upload again to go on.")

    def _end(self, token: str, upload_id: str, status: str) -> Json:
        """Note how an upload has ended; what was made of one that was cancelled meanwhile is removed."""
        for _ in range(TRIES):
            _, upload, etag = self._found(upload_id)
            if upload["status"] == status:
                return upload
            if upload["status"] not in ("pending", "expired"):
                if upload["status"] == "cancelled":
                    self.bucket.erase(_file(token))
                _require_pending(upload)
            ended = {**upload, "status": status}
            if self.bucket.write(_note(token), orjson.dumps(ended), replaces=etag):
                return ended
        raise Unavailable("The upload is being ended by another request. Try again.")

    def _found(self, upload_id: str) -> tuple[str, Json, str]:
        """(token, upload, ETag of its note).

        Raises:
            NotFound: there is no such upload.
        """
        named = _UPLOAD.fullmatch(upload_id)
        found = self.bucket.get(_note(named[1])) if named else None
        if named is None or found is None:
            raise NotFound(f"No such Upload object: {upload_id[:100]}", "upload_id")
        upload: Json = orjson.loads(found[0])
        if upload["status"] == "pending" and upload["expires_at"] <= time.time():
            upload["status"] = "expired"
        return named[1], upload, found[1]

    def _shown(self, upload: Json) -> Json:
        shown = {name: upload[name] for name in _PUBLIC}
        file = None
        if upload["status"] == "completed":
            file = Files(self.bucket).describe(keys.file_id(_file(upload["id"].removeprefix("upload_"))))
        return {**shown, "filename": unquote(upload["filename"]), "file": file}


def _require_pending(upload: Json) -> None:
    if upload["status"] != "pending":
        raise BadRequest(f"The upload is {upload['status']}.")


def _folder(token: str) -> str:
    return f"{keys.UPLOADS}{token}/"


def _note(token: str) -> str:
    return f"{_folder(token)}upload.json"


def _file(token: str) -> str:
    return keys.FILES + token
