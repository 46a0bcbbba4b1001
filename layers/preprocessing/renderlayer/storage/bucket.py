"""One bucket by key: what `S3Store` cannot, over the same client (listings, versions, multipart uploads)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from renderlayer.errors import BadGateway, Unavailable
from renderlayer.storage.objects import Conflict, Gone, Stored
from renderlayer.storage.s3 import S3Store, named, translated

READ_SECONDS = 120
"""A copy of gigabytes inside of S3 answers when it is done."""
ATTEMPTS = 4
TRIES = 3
"""Readings of a body that breaks off, which the client does not repeat itself."""


class _At(NamedTuple):
    bucket: str
    key: str


@dataclass(frozen=True)
class Source:
    """One version of an object."""

    key: str
    etag: str
    version: str | None = None


@dataclass(frozen=True)
class Entry:
    """An object of a listing; `modified` in seconds since the epoch."""

    key: str
    size: int
    modified: float


class Bucket(S3Store):
    """Objects of one bucket by key.

    Raises (all calls):
        Unavailable: the store is down, slow, or refuses this process.
    """

    def __init__(self, name: str, **client: Any) -> None:
        super().__init__(**{"read_seconds": READ_SECONDS, "attempts": ATTEMPTS, **client})
        self.name = name

    def head(self, key: str) -> Stored | None:
        return self.describe(self._at(key))

    def source(self, key: str) -> tuple[Source, Stored] | None:
        """The newest version of an object, and what is known of it."""
        location = self._at(key)
        try:
            with translated(location):
                answer = self._client.head_object(**named(location))
        except Gone:
            return None
        version = answer.get("VersionId")
        stored = Stored(
            answer["ContentLength"], answer["ETag"], answer["LastModified"].timestamp(), None, answer["Metadata"]
        )
        return Source(key, answer["ETag"], None if version == "null" else version), stored

    def get(self, key: str) -> tuple[bytes, str] | None:
        """Content and ETag of an object; None when there is none."""
        try:
            return self._get(key)
        except Gone:
            return None

    def range(self, source: Source, start: int, end: int) -> bytes:
        """Bytes `start` to `end` (exclusive) of a version.

        Raises:
            Gone: there is no such version (any more).
            BadGateway: the store gave something else.
        """
        if end <= start:
            return b""
        chosen = {"VersionId": source.version} if source.version else {"IfMatch": source.etag} if source.etag else {}
        found = self._get(source.key, Range=f"bytes={start}-{end - 1}", **chosen)[0]
        if len(found) != end - start:  # a store that does not know ranges of versions
            raise BadGateway(f"The object store answered {len(found)} bytes where {end - start} were asked for.")
        return found

    def write(
        self, key: str, data: bytes, metadata: Mapping[str, str] | None = None, replaces: str | None = None
    ) -> bool:
        """Write a whole object, whatever was there before; with `replaces` only over the version of that ETag.

        Returns:
            False when there is another version by now.
        """
        return self._put(key, data, metadata, {"IfMatch": replaces} if replaces else {})

    def create(self, key: str, data: bytes, metadata: Mapping[str, str] | None = None) -> bool:
        """Write an object that is not there yet; False when there is one, which is left as it is."""
        return self._put(key, data, metadata, {"IfNoneMatch": "*"})

    def delete(self, key: str) -> None:
        location = self._at(key)
        with translated(location):
            self._client.delete_object(**named(location))

    def erase(self, key: str) -> None:
        """Delete an object with all of its versions, so that nothing of it is left."""
        self._erase(key, lambda found: found == key)

    def erase_under(self, prefix: str, but: str) -> None:
        """Delete all objects under a prefix but one, with all of their versions."""
        self._erase(prefix, lambda found: found != but)

    def _erase(self, prefix: str, meant: Callable[[str], bool]) -> None:
        with translated(self._at(prefix)):
            pages = self._client.get_paginator("list_object_versions").paginate(Bucket=self.name, Prefix=prefix)
            for page in pages:
                rows = [*page.get("Versions", ()), *page.get("DeleteMarkers", ())]
                found = [{"Key": row["Key"], "VersionId": row["VersionId"]} for row in rows if meant(row["Key"])]
                if found:
                    answer = self._client.delete_objects(Bucket=self.name, Delete={"Objects": found, "Quiet": True})
                    if answer.get("Errors"):
                        raise Unavailable("The object store did not delete everything. Try again.")

    def link(self, key: str, seconds: int) -> str:
        """A URL at which anybody can read an object for some time."""
        url: str = self._client.generate_presigned_url("get_object", Params=named(self._at(key)), ExpiresIn=seconds)
        return url

    def entries(self, prefix: str, after: str = "") -> Iterator[Entry]:
        """Objects under a prefix by key, those behind `after`."""
        more: dict[str, str] = {"StartAfter": after} if after else {}
        while True:
            with translated(self._at(prefix)):
                page = self._client.list_objects_v2(Bucket=self.name, Prefix=prefix, **more)
            for found in page.get("Contents", ()):
                yield Entry(found["Key"], found["Size"], found["LastModified"].timestamp())
            if not page.get("IsTruncated"):
                return
            more = {"ContinuationToken": page["NextContinuationToken"]}

    def begin(self, key: str, metadata: Mapping[str, str] | None = None) -> str:
        """Begin a multipart upload; its id."""
        with translated(self._at(key)):
            answer = self._client.create_multipart_upload(**named(self._at(key)), Metadata=metadata or {})
        return str(answer["UploadId"])

    def copy_piece(self, key: str, upload: str, number: int, source: str, start: int, end: int) -> str:
        """Make bytes of another object of the bucket a piece of an upload, inside of S3; the piece's ETag."""
        with translated(self._at(key)):
            answer = self._client.upload_part_copy(
                **named(self._at(key)),
                UploadId=upload,
                PartNumber=number,
                CopySource=named(self._at(source)),
                CopySourceRange=f"bytes={start}-{end - 1}",
            )
        return str(answer["CopyPartResult"]["ETag"])

    def write_piece(self, key: str, upload: str, number: int, data: bytes) -> str:
        """Send a piece of an upload; its ETag."""
        with translated(self._at(key)):
            answer = self._client.upload_part(**named(self._at(key)), UploadId=upload, PartNumber=number, Body=data)
        return str(answer["ETag"])

    def pieces(self, key: str, upload: str) -> dict[int, str]:
        """ETags of the pieces that an upload has, by their numbers.

        Raises:
            Gone: there is no such upload (any more).
        """
        with translated(self._at(key)):
            pages = self._client.get_paginator("list_parts").paginate(**named(self._at(key)), UploadId=upload)
            return {piece["PartNumber"]: piece["ETag"] for page in pages for piece in page.get("Parts", ())}

    def complete(self, key: str, upload: str, etags: Mapping[int, str]) -> bool:
        """Make the pieces, ETags by number, one object that is not there yet; False when there is one."""
        pieces = [{"PartNumber": number, "ETag": etag} for number, etag in sorted(etags.items())]
        try:
            with translated(self._at(key)):
                self._client.complete_multipart_upload(
                    **named(self._at(key)), UploadId=upload, MultipartUpload={"Parts": pieces}, IfNoneMatch="*"
                )
        except Conflict:
            if self.head(key) is not None:
                return False
            raise Unavailable("The object store was busy with another writer. Try again.") from None
        except Gone:
            return False
        return True

    def abort(self, key: str, upload: str) -> None:
        """Drop an upload; one that is gone is fine."""
        try:
            with translated(self._at(key)):
                self._client.abort_multipart_upload(**named(self._at(key)), UploadId=upload)
        except Gone:
            return

    def _at(self, key: str) -> _At:
        return _At(self.name, key)

    def _get(self, key: str, **options: str) -> tuple[bytes, str]:
        from botocore.exceptions import BotoCoreError

        location = self._at(key)
        left = TRIES
        while True:
            left -= 1
            with translated(location):
                answer = self._client.get_object(**named(location), **options)
                try:
                    return answer["Body"].read(), answer["ETag"]
                except BotoCoreError:
                    if not left:
                        raise

    def _put(self, key: str, data: bytes, metadata: Mapping[str, str] | None, condition: Mapping[str, str]) -> bool:
        for _ in range(TRIES):
            try:
                with translated(self._at(key)):
                    self._client.put_object(**named(self._at(key)), **condition, Body=data, Metadata=metadata or {})
                return True
            except Conflict:  # another writer was under way, which may have failed since: only a look tells
                if "IfNoneMatch" in condition and self.head(key) is not None:
                    return False
            except Gone:
                return False
        raise Unavailable("The object store was busy with another writer. Try again.")
