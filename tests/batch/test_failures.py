"""What fails: alone, again in seconds, with a message, and never as if it had been done."""

from __future__ import annotations

import json
from typing import Any

import boto3
import pytest
from moto import mock_aws

from infra.local.batch_cloud import Cloud
from renderlayer.batch.api.files import Files, stored_name
from renderlayer.batch.consumer import Consumer
from renderlayer.batch.storage import keys, status
from renderlayer.batch.storage.queue import Retries
from renderlayer.errors import Unavailable
from renderlayer.storage.bucket import Bucket
from tests.batch.steps import Steps, forever, lines

Json = dict[str, Any]


@pytest.fixture
def steps(cloud: Cloud) -> Steps:
    return Steps(cloud)


def event(*bodies: str, **fields: Any) -> Json:
    return {"Records": [{"messageId": str(at), "body": body, **fields} for at, body in enumerate(bodies)]}


def test_a_message_that_is_no_json_fails_alone() -> None:
    seen: list[Json] = []

    def receive(message: Json, time_left: Any) -> list[Json]:
        seen.append(message)
        return []

    answer = Consumer("work", lambda: receive)(event('{"n": 1}', "{", "[]", '{"n": 2}'), None)
    assert seen == [{"n": 1}, {"n": 2}]
    assert answer == {"batchItemFailures": [{"itemIdentifier": "1"}, {"itemIdentifier": "2"}]}


def test_a_dead_letter_that_nobody_can_read_is_set_aside_once() -> None:
    run_blocking: list[str] = []
    consumer = Consumer("dead", lambda: lambda message, time_left: [], run_blocking.append)
    assert consumer(event("nonsense", "{}"), None) == {"batchItemFailures": []}
    assert run_blocking == ["nonsense"]


@pytest.mark.parametrize(("receives", "seconds"), [(1, 10), (2, 40), (3, 160), (5, 900), (1000, 900)])
def test_a_message_that_failed_is_seen_again_in_a_while(
    receives: int, seconds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with mock_aws():
        monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
        sqs = boto3.client("sqs")
        url = sqs.create_queue(QueueName="work", Attributes={"VisibilityTimeout": "5400"})["QueueUrl"]
        arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        sqs.send_message(QueueUrl=url, MessageBody="{}")
        (message,) = sqs.receive_message(QueueUrl=url)["Messages"]
        record = {
            "eventSourceARN": arn,
            "receiptHandle": message["ReceiptHandle"],
            "attributes": {"ApproximateReceiveCount": str(receives)},
        }
        assert Retries().later(record) == seconds
        with pytest.raises(Unavailable):
            Retries().later({**record, "eventSourceARN": arn + "-gone"})


def test_a_consumer_makes_failed_messages_visible_and_says_when(capsys: pytest.CaptureFixture[str]) -> None:
    class Noted(Retries):
        def later(self, record: Json) -> int | None:
            return 40

    def fails(message: Json, time_left: Any) -> list[Json]:
        raise LookupError("private")

    Consumer("work", lambda: fails, None, Noted())(event("{}"), None)
    said = capsys.readouterr().out
    assert json.loads(said)["again_in_s"] == 40
    assert "private" not in said


def test_a_file_may_be_named_like_an_order(steps: Steps) -> None:
    for message in steps.drop(lines({"n": 1}), "x.order"):
        (told,) = steps.splitter.receive(message, forever)
    assert told["outcome"] == "split"


def test_a_file_that_vanishes_fails_its_batch_with_a_message(steps: Steps) -> None:
    first, second = steps.split(lines(*({"n": number} for number in range(8))))
    steps.worker.receive(first.message(), forever)
    steps.bucket.erase(second.job.source.key)
    assert steps.worker.receive(second.message(), forever)["outcome"] == "failed"
    steps.finish()
    batch = steps.batch()
    assert batch["status"] == "failed"
    assert "replaced or removed" in batch["errors"]["data"][0]["message"]
    assert len(steps.rows(batch["error_file_id"])) == 1


def test_a_lost_event_is_made_up_for_by_the_sweep(steps: Steps) -> None:
    for shard in steps.split(lines({"n": 1}, {"n": 2})):
        steps.worker.receive(shard.message(), forever)
    steps.received("join")  # and lost
    assert steps.batch()["status"] == "in_progress"
    (told,) = steps.joiner.sweep(forever)
    assert (told["outcome"], steps.batch()["status"]) == ("completed", "completed")
    assert steps.joiner.sweep(forever) == []


class Busy:
    """An S3 client whose conditional writes meet another writer so often."""

    def __init__(self, client: Any, times: int) -> None:
        self._client = client
        self.times = times

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def put_object(self, **given: Any) -> Any:
        from botocore.exceptions import ClientError

        if self.times:
            self.times -= 1
            raise ClientError({"Error": {"Code": "ConditionalRequestConflict"}}, "PutObject")
        return self._client.put_object(**given)


@pytest.mark.parametrize(("there", "times", "made"), [(False, 1, True), (True, 1, False), (False, 9, None)])
def test_a_conflict_is_looked_at_before_it_is_believed(
    steps: Steps, there: bool, times: int, made: bool | None
) -> None:
    bucket = Bucket(steps.bucket.name)
    if there:
        bucket.create("batches/x", b"1")
    bucket._made = Busy(bucket._client, times)
    if made is None:
        with pytest.raises(Unavailable):
            bucket.create("batches/x", b"2")
    else:
        assert bucket.create("batches/x", b"2") is made
        assert bucket.head("batches/x") is not None


@pytest.mark.parametrize("name", ["a.jsonl", "é" * 200, "\U0001f600" * 5000, "", "\ud800"])
def test_a_files_name_fits_into_its_metadata(steps: Steps, name: str) -> None:
    assert len(stored_name(name)) <= 1_500  # S3 takes 2 KB of metadata in all, its names included
    assert Files(steps.bucket).add(name, b"{}")["bytes"] == 2


def test_a_removed_file_is_gone_in_all_of_its_versions(steps: Steps) -> None:
    s3 = steps.cloud.client("s3")
    s3.put_bucket_versioning(Bucket=steps.bucket.name, VersioningConfiguration={"Status": "Enabled"})
    file = Files(steps.bucket).add("f", b"1")
    key = keys.key_of(file["id"])
    steps.bucket.write(key, b"2")
    steps.bucket.write(key + "-other", b"3")
    Files(steps.bucket).remove(file["id"])
    left = [row["Key"] for row in s3.list_object_versions(Bucket=steps.bucket.name, Prefix=key).get("Versions", ())]
    assert left == [key + "-other"]


def test_the_batch_of_an_order_is_in_its_name() -> None:
    batch = keys.batch_id(1_700_000_000)
    assert keys.ordered(f"{keys.INBOX}{batch}.order") == batch
    for name in ("x.order", f"{batch}.orders", f"a/{batch}.order", f"{batch}x.order"):
        assert keys.ordered(keys.INBOX + name) is None
    assert status.RANKS["failed"] == status.ENDED
