"""Batches of a deployed stack: a file dropped into its bucket, files and uploads through its API."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

from infra.rehearsal.caller import Caller
from infra.rehearsal.stack import Stack
from infra.rehearsal.steps import GREEDY, QUESTION, check
from renderlayer.errors import ConfigurationError

SECONDS = 300
ENDED = ("completed", "failed", "expired", "cancelled")
PART = 4_000_000
"""Bytes of a part: a function takes 6 MB, and gets a form as base64."""

Json = dict[str, Any]


def drop(stack: Stack) -> str:
    """A file dropped into the bucket; its results by S3 alone."""
    s3, bucket = stack.cloud.client("s3"), stack.outputs()["BatchBucketName"]
    urls = ["/v1/chat/completions", "/v1/chat/completions/render", "/v1/chat/completions"]
    bodies: list[Json] = [GREEDY, QUESTION, {"messages": "nonsense"}]
    rows = [_line(at, url, body) for at, (url, body) in enumerate(zip(urls, bodies, strict=True))]
    s3.put_object(Bucket=bucket, Key="batches/in/rehearsal.jsonl", Body="\n".join(rows))

    def states() -> Iterator[Json]:
        for entry in s3.list_objects_v2(Bucket=bucket, Prefix="batches/status/").get("Contents", ()):
            yield json.loads(s3.get_object(Bucket=bucket, Key=entry["Key"])["Body"].read())

    began = time.monotonic()
    told = _ended(lambda: next(states(), None))
    check(told["request_counts"], {"total": 3, "completed": 2, "failed": 1}, f"batch {told['status']}")
    answer = s3.get_object(Bucket=bucket, Key=f"batches/out/{told['id']}/output.jsonl")["Body"].read().splitlines()[0]
    text = json.loads(answer)["response"]["body"]["choices"][0]["message"]["content"]
    return f"{told['status']} after {time.monotonic() - began:.0f} s: {told['request_counts']}; {text!r}"


def upload(api: Caller) -> str:
    """A file larger than a function takes, in parts; a batch of it; and its end, in all of its versions."""
    padding = "x" * 1_000_000
    rows = [_line(at, "/v1/chat/completions/render", {**QUESTION, "user": padding}) for at in range(10)]
    content = "\n".join(rows).encode()
    begun = {"bytes": len(content), "filename": "large.jsonl", "mime_type": "application/jsonl", "purpose": "batch"}
    path = f"/v1/uploads/{api.json('/v1/uploads', begun)['id']}"
    pieces = [content[at : at + PART] for at in range(0, len(content), PART)]
    parts = [api.send_form(f"{path}/parts", "data", piece)["id"] for piece in pieces]
    file = api.json(f"{path}/complete", {"part_ids": parts})["file"]
    check((file["bytes"], file["filename"]), (len(content), "large.jsonl"), "the uploaded file")
    order = {"input_file_id": file["id"], "endpoint": "/v1/chat/completions/render", "completion_window": "24h"}
    batch = api.json("/v1/batches", order)["id"]
    told = _ended(lambda: api.json(f"/v1/batches/{batch}"))
    check(told["request_counts"], {"total": 10, "completed": 10, "failed": 0}, f"batch {told['status']}")
    before = _versions(api.stack)
    check(api.delete(f"/v1/files/{file['id']}")["deleted"], True, "deleting")
    check(before - _versions(api.stack), 1, "versions that went")
    check(api.call(f"/v1/files/{file['id']}").status_code, 404, "a deleted file")
    return f"{len(content) / 1e6:.0f} MB in {len(parts)} parts, a batch of it {told['status']}, deleted in all versions"


def small_file(api: Caller) -> str:
    """The way of a file that one request carries."""
    content = _line(0, "/v1/chat/completions/render", QUESTION).encode()
    file = api.send_form("/v1/files", "file", content, purpose="batch")
    check(api.call(f"/v1/files/{file['id']}/content").content, content, "the content of a file")
    check(api.delete(f"/v1/files/{file['id']}")["deleted"], True, "deleting")
    return f"{file['id'][:12]}…: sent, read, deleted"


def _ended(look: Any) -> Json:
    began = time.monotonic()
    while time.monotonic() - began < SECONDS:
        told: Json | None = look()
        if told is not None and told["status"] in ENDED:
            return told
        time.sleep(0.5)
    raise ConfigurationError(f"a batch was not done after {SECONDS} s")


def _versions(stack: Stack) -> int:
    """Versions and markers beneath the folder of files."""
    s3, bucket = stack.cloud.client("s3"), stack.outputs()["BatchBucketName"]
    found = s3.list_object_versions(Bucket=bucket, Prefix="batches/files/")
    return len(found.get("Versions", ())) + len(found.get("DeleteMarkers", ()))


def _line(number: int, url: str, body: Json) -> str:
    return json.dumps({"custom_id": f"line-{number}", "method": "POST", "url": url, "body": body})
