"""What kills whoever works on it: the queue gives it up, and its lines or its batch end with a readable error."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from infra.local.batch_cloud import Cloud
from infra.local.batch_pump import EventSource, Pump
from renderlayer.batch.consumer import Consumer
from renderlayer.batch.steps.claims import Shard
from renderlayer.batch.storage import keys
from tests.batch.steps import Steps, forever, ids, lines
from tests.batch.test_chaos import ended


class Killed(Exception):
    """What Lambda says of a function whose process ended."""


def run(steps: Steps, **poisoned: Callable[..., Any]) -> dict[str, Any]:
    """Twelve lines, three shards, through the queues; the batch when it has ended."""
    receivers: dict[str, Any] = {
        "split": steps.splitter.receive,
        "work": steps.worker.receive,
        "join": steps.joiner.receive,
        "dead": lambda message, time_left: steps.undertaker.receive(message),
        **poisoned,
    }

    def consumer(name: str) -> Consumer:
        return Consumer(name, lambda: receivers[name])

    sources = [EventSource(name, steps.cloud.queues[name], consumer(name)) for name in receivers]
    with Pump(steps.cloud.client("sqs"), sources):
        steps.bucket.write(keys.INBOX + "f", lines(*({"n": number} for number in range(12))))
        return ended(steps.bucket)


def test_a_poison_shard(cloud: Cloud, capfd: Any) -> None:
    steps = Steps(cloud)
    receipts: list[int] = []

    def work(message: dict[str, Any], time_left: Callable[[], float]) -> dict[str, Any]:
        if Shard.read(message).number == 1:
            receipts.append(1)
            raise Killed("a secret of the prompt")
        return steps.worker.receive(message, time_left)

    batch = run(steps, work=work)
    assert len(receipts) == 5
    assert (batch["status"], batch["request_counts"]) == ("completed", {"total": 12, "completed": 8, "failed": 4})
    errors = steps.rows(batch["error_file_id"])
    assert ids(errors) == ["r-5", "r-6", "r-7", "r-8"]
    assert {row["error"]["code"] for row in errors} == {"server_error"}
    written = capfd.readouterr().out
    logged = [json.loads(line) for line in written.splitlines() if line.startswith("{")]
    assert {"error": "Killed", "level": "ERROR", "message": "batch", "service": "work"} in logged
    assert {"abandoned", "completed", "split", "done"} <= {row.get("outcome") for row in logged}
    assert "secret" not in written


@pytest.mark.parametrize(("step", "told"), [("split", "could not be split"), ("join", "could not be joined")])
def test_a_poison_batch(cloud: Cloud, step: str, told: str) -> None:
    def die(message: dict[str, Any], time_left: Callable[[], float]) -> None:
        if message.get("Event") != "s3:TestEvent":
            raise Killed("a secret of the prompt")

    steps = Steps(cloud)
    batch = run(steps, **{step: die})
    assert (batch["status"], batch["output_file_id"]) == ("failed", None)
    (row,) = steps.rows(batch["error_file_id"])
    assert row["error"]["code"] == batch["errors"]["data"][0]["code"] == "server_error"
    assert told in row["error"]["message"]


def test_a_split_that_dies_half_way_stops_its_shards(cloud: Cloud) -> None:
    steps = Steps(cloud)
    (message,) = steps.drop(lines(*({"n": number} for number in range(50))))
    steps.splitter.receive(message, lambda: 10.0)
    (continuation,) = steps.received("split")
    for _ in range(2):
        assert steps.undertaker.receive(continuation)[0]["outcome"] == "failed"
    shard, *_ = steps.received("work")
    assert steps.worker.receive(shard, forever)["outcome"] == "cancelled"
    for message in steps.received("join"):
        steps.joiner.receive(message, forever)
    assert steps.batch()["status"] == "failed"


def test_dead_letters_of_what_went_on_meanwhile(cloud: Cloud) -> None:
    steps = Steps(cloud)
    (message,) = steps.drop(lines(*({"n": number} for number in range(8))))
    steps.splitter.receive(message, forever)
    assert steps.undertaker.receive(message)[0]["outcome"] == "known"
    first, second = steps.received("work")
    steps.worker.receive(first, forever)
    parts = steps.received("join")
    assert [row["outcome"] for part in parts for row in steps.undertaker.receive(part)] == ["waiting"] * 2
    steps.worker.receive(second, forever)
    steps.finish()
    assert steps.undertaker.receive(parts[0])[0]["outcome"] == "known"
    assert steps.batch()["status"] == "completed"


def test_one_message_of_several_fails(cloud: Cloud) -> None:
    def receive(message: dict[str, Any], time_left: Callable[[], float]) -> list[Any]:
        if message["n"] == 2:
            raise Killed
        assert time_left() == float("inf")
        return []

    records = [{"messageId": f"m-{number}", "body": json.dumps({"n": number})} for number in (1, 2, 3)]
    response = Consumer("test", lambda: receive)({"Records": records}, None)
    assert response == {"batchItemFailures": [{"itemIdentifier": "m-2"}]}
