"""Uploads in parts: by the official client through the gateway, and what becomes of them in the bucket."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

from renderlayer.batch.api import uploads
from renderlayer.batch.api.files import Files
from renderlayer.batch.api.uploads import Uploads
from renderlayer.batch.steps.assembly import LEAST
from renderlayer.batch.storage import keys
from renderlayer.errors import BadRequest, InvalidRequest, NotFound, Unavailable
from renderlayer.storage.bucket import Bucket
from tests.batch.conftest import Deployed
from tests.batch.test_client import create, request

Json = dict[str, Any]
PART = 2 << 20
"""Bytes of a part: less than a piece of S3's own uploads may have."""


def forever() -> float:
    return float("inf")


def body(size: int, **fields: Any) -> Json:
    return {"bytes": size, "filename": "é.jsonl", "mime_type": "application/jsonl", "purpose": "batch", **fields}


def content(size: int) -> bytes:
    return hashlib.shake_128(b"content").digest(size)


@pytest.fixture
def files(bucket: Bucket) -> Files:
    return Files(bucket)


@pytest.fixture
def made(bucket: Bucket) -> Uploads:
    return Uploads(bucket)


def begun(made: Uploads, data: bytes, part: int = PART) -> tuple[str, list[str]]:
    """An upload with all of its parts, and their ids."""
    upload = made.create(body(len(data)))["id"]
    return upload, [made.add(upload, data[at : at + part])["id"] for at in range(0, len(data), part)]


def left(bucket: Bucket, s3: Any) -> list[str]:
    """What there is of uploads: objects in all versions, and S3's own."""
    versions = s3.list_object_versions(Bucket=bucket.name, Prefix=keys.UPLOADS)
    rows = [*versions.get("Versions", ()), *versions.get("DeleteMarkers", ())]
    own = s3.list_multipart_uploads(Bucket=bucket.name).get("Uploads", ())
    return [row["Key"].rpartition("/")[2] for row in rows] + [row["UploadId"] for row in own]


@pytest.mark.parametrize("size", [1, PART, 5 * PART + 1, 3 * LEAST])
def test_parts_become_a_file(made: Uploads, files: Files, bucket: Bucket, s3: Any, size: int) -> None:
    s3.put_bucket_versioning(Bucket=bucket.name, VersioningConfiguration={"Status": "Enabled"})
    data = content(size)
    upload, parts = begun(made, data)
    done = made.complete(upload, {"part_ids": parts, "md5": hashlib.md5(data).hexdigest()}, forever)
    file = done["file"]
    assert (done["status"], file["filename"], file["bytes"], file["purpose"]) == ("completed", "é.jsonl", size, "batch")
    assert files.content(file["id"], 0) == data
    assert left(bucket, s3) == ["upload.json"] * 2  # two versions of its note
    assert made.complete(upload, {"part_ids": parts}, forever) == done  # asked again, since the answer was lost


def test_the_order_is_the_callers(made: Uploads, files: Files) -> None:
    upload, parts = begun(made, b"abc", 1)
    done = made.complete(upload, {"part_ids": parts[::-1]}, forever)
    assert files.content(done["file"]["id"], 0) == b"cba"


def test_joining_goes_on_where_the_time_was_short(
    made: Uploads, files: Files, bucket: Bucket, s3: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "PACE", uploads.Pace(reserve=10, at_once=1))
    data = content(9 * PART)
    upload, parts = begun(made, data)
    tries = 0
    done = None
    while done is None:
        tries += 1
        with suppress(Unavailable):
            done = made.complete(upload, {"part_ids": parts}, lambda: 5)
    assert tries == 3  # pieces of three parts each
    assert files.content(done["file"]["id"], 0) == data
    assert left(bucket, s3) == ["upload.json"]


def test_another_order_begins_anew(made: Uploads, files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "PACE", uploads.Pace(reserve=10, at_once=1))
    data = content(6 * PART)
    upload, parts = begun(made, data)
    with pytest.raises(Unavailable):
        made.complete(upload, {"part_ids": parts}, lambda: 5)
    done = made.complete(upload, {"part_ids": parts[::-1]}, forever)
    pieces = [data[at : at + PART] for at in range(0, len(data), PART)]
    assert files.content(done["file"]["id"], 0) == b"".join(pieces[::-1])


def test_a_cancelled_upload_leaves_nothing(
    made: Uploads, bucket: Bucket, s3: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "PACE", uploads.Pace(reserve=10, at_once=1))
    upload, parts = begun(made, content(6 * PART))
    with pytest.raises(Unavailable):
        made.complete(upload, {"part_ids": parts}, lambda: 5)
    assert made.cancel(upload)["status"] == made.cancel(upload)["status"] == "cancelled"
    assert left(bucket, s3) == ["upload.json"]
    for call in (lambda: made.add(upload, b"x"), lambda: made.complete(upload, {"part_ids": parts}, forever)):
        with pytest.raises(BadRequest, match="cancelled"):
            call()


def test_a_file_that_was_joined_while_its_upload_was_cancelled_is_removed(
    made: Uploads, files: Files, bucket: Bucket
) -> None:
    upload, parts = begun(made, b"abc", 1)
    joined = uploads.assemble

    def cancelled_meanwhile(*given: Any) -> Any:
        made.cancel(upload)
        return joined(*given)

    late: Callable[..., Any] = cancelled_meanwhile
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(uploads, "assemble", late)
        with pytest.raises((BadRequest, Unavailable)):
            made.complete(upload, {"part_ids": parts}, forever)
    assert list(files.listed(None)) == []


def test_an_upload_expires(made: Uploads, monkeypatch: pytest.MonkeyPatch) -> None:
    upload, parts = begun(made, b"abc", 1)
    monkeypatch.setattr(uploads.time, "time", lambda: 2e9)
    with pytest.raises(BadRequest, match="expired"):
        made.add(upload, b"x")
    with pytest.raises(BadRequest, match="expired"):
        made.complete(upload, {"part_ids": parts}, forever)
    assert made.cancel(upload)["status"] == "cancelled"


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"bytes": 0}, "bytes"),
        ({"bytes": True}, "bytes"),
        ({"bytes": "1"}, "bytes"),
        ({"bytes": uploads.LARGEST + 1}, "bytes"),
        ({"filename": ""}, "filename"),
        ({"filename": None}, "filename"),
        ({"mime_type": 1}, "mime_type"),
        ({"purpose": "assistants"}, "purpose"),
    ],
)
def test_what_is_refused_at_the_beginning(made: Uploads, fields: Json, param: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        made.create(body(1, **fields))
    assert refused.value.param == param
    for nonsense in (None, [], "x"):
        with pytest.raises(InvalidRequest):
            made.create(nonsense)


def test_what_is_refused_at_the_end(made: Uploads) -> None:
    upload, parts = begun(made, b"abc", 1)
    _, others = begun(made, b"abc", 1)
    for wrong in (None, "x", [], [1], ["part_"], [parts[0]], [*parts, parts[0]], others, ["part_" + "0" * 32]):
        with pytest.raises(InvalidRequest) as refused:
            made.complete(upload, {"part_ids": wrong}, forever)
        assert refused.value.param == "part_ids"
    for md5 in ("", 1, hashlib.md5(b"cba").hexdigest()):
        with pytest.raises(InvalidRequest) as refused:
            made.complete(upload, {"part_ids": parts, "md5": md5}, forever)
        assert refused.value.param == "md5"
    with pytest.raises(InvalidRequest, match="too large to check"):
        made.complete(upload, {"part_ids": parts, "md5": hashlib.md5(b"abc").hexdigest()}, lambda: 1)
    for data in (b"", b"abcd"):
        with pytest.raises(InvalidRequest) as refused:
            made.add(upload, data)
        assert refused.value.param == "data"
    for missing in ("upload_", "upload_" + "0" * 24, "../x", ""):
        with pytest.raises(NotFound):
            made.complete(missing, {"part_ids": parts}, forever)


def test_the_official_client_uploads_in_parts(deployed: Deployed, tmp_path: Path) -> None:
    client = deployed.client
    path = tmp_path / "requests.jsonl"
    path.write_text("\n".join(request(number, user="x" * 600_000) for number in range(12)))
    upload = client.uploads.upload_file_chunked(
        file=path,
        mime_type="application/jsonl",
        purpose="batch",
        part_size=4_000_000,
        md5=hashlib.md5(path.read_bytes()).hexdigest(),
    )
    assert (upload.status, upload.bytes, upload.filename) == ("completed", path.stat().st_size, path.name)
    assert upload.file is not None
    assert client.files.content(upload.file.id).read() == path.read_bytes()
    assert create(client, upload.file.id).input_file_id == upload.file.id
    pending = client.uploads.create(bytes=3, filename="f", mime_type="text/plain", purpose="batch")
    part = client.uploads.parts.create(pending.id, data=b"abc")
    assert (part.object, part.upload_id) == ("upload.part", pending.id)
    assert client.uploads.cancel(pending.id).status == "cancelled"
    with pytest.raises(openai.BadRequestError, match="cancelled"):
        client.uploads.complete(pending.id, part_ids=[part.id])
    answer = httpx.post(f"{client.base_url}uploads/{pending.id}/parts", json={"data": "abc"})
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "data")
