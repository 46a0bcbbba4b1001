"""A shard that kills whoever works on it: the queue gives it up, and its lines end in the error file."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from infra.local.batch_cloud import Cloud
from infra.local.batch_pump import EventSource, Pump
from renderlayer.batch import keys
from renderlayer.batch.claims import Shard
from renderlayer.batch.consumer import Consumer
from tests.batch.steps import Steps, ids, lines
from tests.batch.test_chaos import ended


class Killed(Exception):
    """What Lambda says of a function whose process ended."""


def test_a_poison_shard(cloud: Cloud, capfd: Any) -> None:
    steps = Steps(cloud)
    receipts: list[int] = []

    def work(message: dict[str, Any], time_left: Callable[[], float]) -> dict[str, Any]:
        if Shard.read(message).number == 1:
            receipts.append(1)
            raise Killed("a secret of the prompt")
        return steps.worker.receive(message, time_left)

    receivers: dict[str, Any] = {
        "split": steps.splitter.receive,
        "work": work,
        "join": lambda message, time_left: steps.joiner.receive(message),
        "work-dead": lambda message, time_left: steps.worker.abandon(message),
    }

    def consumer(name: str) -> Consumer:
        return Consumer(name, lambda: receivers[name])

    sources = [EventSource(name, cloud.queues[name], consumer(name)) for name in receivers]
    with Pump(cloud.client("sqs"), sources):
        steps.bucket.write(keys.INBOX + "f", lines(*({"n": number} for number in range(12))))
        batch = ended(steps.bucket)
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


def test_one_message_of_several_fails(cloud: Cloud) -> None:
    def receive(message: dict[str, Any], time_left: Callable[[], float]) -> list[Any]:
        if message["n"] == 2:
            raise Killed
        assert time_left() == float("inf")
        return []

    records = [{"messageId": f"m-{number}", "body": json.dumps({"n": number})} for number in (1, 2, 3)]
    response = Consumer("test", lambda: receive)({"Records": records}, None)
    assert response == {"batchItemFailures": [{"itemIdentifier": "m-2"}]}
