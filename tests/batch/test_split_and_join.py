"""From a dropped file to result files: broken files, handing on, twice and in any order."""

from __future__ import annotations

import json
from typing import Any

import pytest

from infra.local.batch_cloud import Cloud
from renderlayer.batch.api.service import BatchService
from renderlayer.batch.steps import assembly
from renderlayer.batch.steps.claims import Shard
from renderlayer.batch.steps.sharder import LARGEST_LINE, Limits
from renderlayer.batch.storage import keys, status
from renderlayer.errors import NotFound, Unavailable
from tests.batch.steps import ECHO, Steps, forever, ids, in_the_past, lines


@pytest.fixture
def steps(cloud: Cloud) -> Steps:
    return Steps(cloud)


def test_a_file_and_its_results(steps: Steps) -> None:
    steps.bucket.write(keys.INBOX + "a b+ü.jsonl", lines(*range(0), *({"n": number} for number in range(10))) + b"{")
    steps.finish()
    batch = steps.batch()
    assert (batch["status"], batch["request_counts"]) == ("completed", {"total": 11, "completed": 10, "failed": 1})
    assert batch["created_at"] <= batch["in_progress_at"] <= batch["finalizing_at"] <= batch["completed_at"]
    assert keys.key_of(batch["input_file_id"]) == keys.INBOX + "a b+ü.jsonl"
    rows = steps.rows(batch["output_file_id"])
    assert ids(rows) == [f"r-{number}" for number in range(1, 11)]
    assert [row["response"]["body"]["echo"]["n"] for row in rows] == list(range(10))
    assert [row["error"]["line"] for row in steps.rows(batch["error_file_id"])] == [11]


def test_windows_ends_a_bom_and_no_final_end(steps: Steps) -> None:
    text = b"\xef\xbb\xbf" + lines({"n": 1}, {"n": 2}).replace(b"\n", b"\r\n").rstrip()
    steps.drop(b"")
    steps.received("split")
    shards = steps.split(text)
    for shard in shards:
        steps.worker.receive(shard.message(), forever)
    assert [row["response"]["status_code"] for shard in shards for row in steps.part(shard)] == [200, 200]


def test_a_line_of_twenty_megabytes_fails_alone(steps: Steps) -> None:
    long = json.dumps({"custom_id": "long", "method": "POST", "url": ECHO, "body": {"x": "x" * (20 << 20)}}).encode()
    assert len(long) > LARGEST_LINE
    steps.bucket.write(keys.INBOX + "f", lines({"n": 1}) + long + b"\n" + lines({"n": 1}).replace(b"r-1", b"r-2"))
    steps.finish()
    batch = steps.batch()
    assert ids(steps.rows(batch["output_file_id"])) == ["r-1", "r-2"]
    (error,) = steps.rows(batch["error_file_id"])
    assert (error["error"]["code"], error["error"]["line"]) == ("line_too_long", 2)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "The file has no lines."),
        (b"\n \r\n", "The file has no lines."),
        (b"some,csv\n1,2\n", "No line of the file is a JSON object."),
        ("{}".encode("utf-16"), "The file is compressed, or not in UTF-8."),
        (b"\x1f\x8b\x08\x00", "The file is compressed, or not in UTF-8."),
    ],
)
def test_a_broken_file_fails_the_batch(steps: Steps, content: bytes, message: str) -> None:
    steps.bucket.write(keys.INBOX + "f", content)
    steps.finish()
    batch = steps.batch()
    assert (batch["status"], batch["output_file_id"]) == ("failed", None)
    assert batch["errors"]["data"][0]["message"] == message
    (row,) = steps.rows(batch["error_file_id"])
    assert row["error"]["message"] == message


@pytest.mark.long
def test_a_large_file_is_handed_on(steps: Steps) -> None:
    content = lines(*({"n": number} for number in range(300))) + lines({"n": 0})
    calls = 0
    messages = steps.drop(content)
    while messages:
        calls += 1
        (outcome,) = steps.splitter.receive(messages.pop(), lambda: 10.0)
        messages = steps.received("split")
    assert calls > 3
    assert (outcome["outcome"], outcome["requests"]) == ("split", 301)
    shards = [Shard.read(message) for message in steps.received("work")]
    assert [shard.number for shard in sorted(shards, key=lambda shard: shard.number)] == list(range(76))
    assert [shard.cut.duplicates for shard in shards if shard.cut.duplicates] == [(301,)]
    assert steps.batch()["request_counts"]["total"] == 301
    whole = Steps(steps.cloud).split(content)  # in one go
    assert {shard.number: shard.cut for shard in whole} == {shard.number: shard.cut for shard in shards}


def test_a_long_join_is_handed_on(steps: Steps, s3: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assembly, "AT_ONCE", 1)
    for shard in steps.split(lines(*({"x": str(number) * (2 << 20)} for number in range(9)), {"x": "end"})):
        steps.worker.receive(shard.message(), forever)
    outcomes = []
    while messages := steps.received("join"):
        for message in messages[:1] * 2:  # the same event twice
            outcomes += [row["outcome"] for row in steps.joiner.receive(message, lambda: 10.0)]
    assert [outcome for outcome in outcomes if outcome != "known"] == ["handed_on"] * 3 + ["completed"]
    batch = steps.batch()
    assert (batch["status"], batch["request_counts"]) == ("completed", {"total": 10, "completed": 10, "failed": 0})
    rows = steps.rows(batch["output_file_id"])
    assert [row["response"]["body"]["echo"]["x"][0] for row in rows] == [*"012345678e"]
    assert "Uploads" not in s3.list_multipart_uploads(Bucket=steps.bucket.name)


def test_a_join_whose_upload_is_gone_begins_anew(steps: Steps, s3: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assembly, "AT_ONCE", 1)
    for shard in steps.split(lines(*({"x": str(number) * (2 << 20)} for number in range(9)))):
        steps.worker.receive(shard.message(), forever)
    message, *_ = steps.received("join")
    steps.joiner.receive(message, lambda: 10.0)
    (upload,) = s3.list_multipart_uploads(Bucket=steps.bucket.name)["Uploads"]
    s3.abort_multipart_upload(Bucket=steps.bucket.name, Key=upload["Key"], UploadId=upload["UploadId"])
    with pytest.raises(Unavailable):
        steps.joiner.receive(message, forever)
    assert steps.joiner.receive(message, forever)[0]["outcome"] == "completed"


def test_messages_may_come_twice_and_in_any_order(steps: Steps) -> None:
    content = lines(*({"n": number} for number in range(20)))
    messages = steps.drop(content)
    for message in messages * 2:
        steps.splitter.receive(message, forever)
    shards = [Shard.read(message) for message in steps.received("work")]
    manifest = steps.received("join")
    assert steps.joiner.receive(manifest[0], forever)[0]["outcome"] == "waiting"
    for shard in [*reversed(shards), *shards]:
        steps.worker.receive(shard.message(), forever)
    told = steps.received("join")
    outcomes = [
        row["outcome"]
        for message in [*reversed(told), *manifest, *told]
        for row in steps.joiner.receive(message, forever)
    ]
    assert outcomes == ["completed"] + ["known"] * (len(outcomes) - 1)
    assert ids(steps.rows(steps.batch()["output_file_id"])) == [f"r-{number}" for number in range(1, 21)]


def test_the_last_part_may_come_before_the_manifest(steps: Steps) -> None:
    shards = steps.split(lines({"n": 1}))
    steps.received("join")
    steps.worker.receive(shards[0].message(), forever)
    manifest = steps.bucket.get(keys.manifest(shards[0].job.batch))
    assert manifest is not None
    steps.bucket.delete(keys.manifest(shards[0].job.batch))
    for message in steps.received("join"):
        assert steps.joiner.receive(message, forever)[0]["outcome"] == "waiting"
    steps.bucket.create(keys.manifest(shards[0].job.batch), manifest[0])
    steps.finish()
    assert steps.batch()["status"] == "completed"


def order(steps: Steps, content: bytes, **fields: Any) -> tuple[BatchService, dict[str, Any]]:
    orders = BatchService(steps.bucket, {ECHO})
    steps.bucket.create(keys.FILES + "0123", content)
    given = {"input_file_id": keys.file_id(keys.FILES + "0123"), "endpoint": ECHO, "completion_window": "24h"}
    return orders, orders.create({**given, **fields})


def test_a_batch_that_is_cancelled(steps: Steps) -> None:
    orders, batch = order(steps, lines(*({"n": number} for number in range(8))))
    for message in steps.received("split"):
        steps.splitter.receive(message, forever)
    first, second = steps.received("work")
    steps.worker.receive(first, forever)
    assert orders.cancel(batch["id"])["status"] == "cancelling"
    steps.worker.receive(second, forever)
    steps.finish()
    batch = orders.retrieve(batch["id"])
    assert (batch["status"], batch["request_counts"]) == ("cancelled", {"total": 8, "completed": 4, "failed": 4})
    assert len(steps.rows(batch["output_file_id"])) == 4
    with pytest.raises(Exception, match="Cannot cancel a batch with status 'cancelled'"):
        orders.cancel(batch["id"])


def test_a_batch_that_expires(steps: Steps) -> None:
    _, batch = order(steps, lines({"n": 1}))
    status.update(steps.bucket, batch["id"], lambda now: {**now, "expires_at": in_the_past()})
    steps.finish()
    assert steps.batch()["status"] == "expired"


def test_an_order_whose_file_is_gone(steps: Steps) -> None:
    order(steps, lines({"n": 1}))
    steps.bucket.delete(keys.FILES + "0123")
    steps.finish()
    assert steps.batch()["status"] == "failed"


def test_a_status_never_goes_back() -> None:
    batch = status.new("b", "f", 1, 2, "")
    done = status.advanced(batch, "completed", {"total": 3, "completed": 3})
    assert status.advanced(done, "in_progress") == done
    assert status.advanced(done, "cancelled") == done
    working = status.advanced(batch, "in_progress", {"completed": 2})
    assert status.advanced(working, "validating", {"completed": 1})["request_counts"]["completed"] == 2
    assert status.advanced(working, "validating")["status"] == "in_progress"


@pytest.mark.parametrize("file_id", ["", "file-", "file-!!", "file-ü", keys.file_id("batches/work/x"), "batch_1"])
def test_ids_of_what_is_no_file(file_id: str) -> None:
    with pytest.raises(NotFound):
        keys.key_of(file_id)


def test_shards_end_with_the_line_that_reaches_the_bytes(cloud: Cloud) -> None:
    steps = Steps(cloud, limits=Limits(100, 500))
    shards = steps.split(lines(*({"n": number} for number in range(9))))
    assert {shard.cut.requests for shard in shards} == {2, 1}
