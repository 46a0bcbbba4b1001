"""Processes killed in the middle, messages twice and out of order, a store that fails: the result of a quiet run."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest

from infra.local.batch_cloud import Cloud, made
from infra.local.batch_pump import EventSource, Pump
from renderlayer.batch.steps.sharder import Limits
from renderlayer.batch.storage import keys, status
from renderlayer.http.batch_endpoints import endpoints
from renderlayer.storage.bucket import Bucket
from tests.batch.files import mixed
from tests.batch.gateways import HANDLERS
from tests.batch.steps import Steps
from tests.references.faults import Fault, FaultyStore
from tests.runtime import Function

LINES, SHARD_LINES = 400, 40
FAULTS, KILLS = 0.05, 0.1
"""Shares of the calls of the store that fail, and at which a process is killed."""
LIVES = 8
"""Kills in all; each costs a cold start."""
WAIT = 300
"""Seconds that the batch may take."""

Json = dict[str, Any]


class Mortal:
    """A function whose process is made anew for the next event after it was killed."""

    def __init__(self, handler: str, environment: dict[str, str]) -> None:
        self._handler, self._environment = handler, environment
        self._function: Function | None = None
        self._busy = threading.Event()

    def __call__(self, event: Json, context: Any) -> Json:
        if self._function is None:
            self._function = Function(self._handler, self._environment).__enter__()
        self._busy.set()
        outcome = self._function.invoke(event)
        self._busy.clear()
        if outcome.ok:
            response: Json = outcome.value
            return response
        self.end()
        return {"batchItemFailures": [{"itemIdentifier": record["messageId"]} for record in event["Records"]]}

    def kill(self) -> bool:
        """Kill the process in the middle of an event; False when there is none."""
        if self._function is None or not self._busy.is_set():
            return False
        self._function._process.kill()
        return True

    def end(self) -> None:
        if self._function is not None:
            self._function.__exit__()
            self._function = None


class Chaos:
    """Decides at every call of the store what goes wrong."""

    def __init__(self, seed: int, mortals: list[Mortal]) -> None:
        self._chance = random.Random(seed)
        self._mortals = mortals
        self._lock = threading.Lock()
        self.killed = self.failed = 0

    def __call__(self, method: str, path: str) -> Fault | None:
        with self._lock:
            drawn = self._chance.random()
            if drawn < FAULTS:
                self.failed += 1
                return Fault(cut=1) if method == "GET" and drawn < FAULTS / 2 else Fault(status=500)
            if drawn < FAULTS + KILLS and self.killed < LIVES:
                self.killed += self._chance.choice(self._mortals).kill()
            return None


def twice_and_shuffled(handler: Callable[[Json, Any], Json], seed: int) -> Callable[[Json, Any], Json]:
    """Hands messages over in any order, and all of them a second time."""
    chance = random.Random(seed)

    def call(event: Json, context: Any) -> Json:
        chance.shuffle(event["Records"])
        response = handler(event, context)
        handler({"Records": event["Records"][::-1]}, context)
        return response

    return call


@pytest.mark.long
def test_the_result_is_that_of_a_quiet_run(cloud: Cloud, server: Any) -> None:
    text, good, bad = mixed(LINES, server)
    quiet = Steps(cloud, limits=Limits(1 << 20, SHARD_LINES), endpoints=endpoints(server, None))
    quiet.bucket.write(keys.INBOX + "file.jsonl", text)
    quiet.finish()

    other = made(Cloud(cloud.url, cloud.bucket + "x", {}), attempts=1000)
    with ExitStack() as stack:
        proxy = stack.enter_context(FaultyStore(cloud.url))
        environment = {
            "RENDERLAYER_MODEL": server.settings.model,
            "RENDERLAYER_SERVED_MODEL_NAME": "small",
            "RENDERLAYER_BATCH_SHARD_LINES": str(SHARD_LINES),
            **other.environment(proxy.url),
        }
        mortals = {name: Mortal(HANDLERS[name], environment) for name in ("split", "work", "join")}
        for mortal in mortals.values():
            stack.callback(mortal.end)
        proxy.fault = chaos = Chaos(1, list(mortals.values()))
        sources = [
            EventSource(name, other.queues[name], twice_and_shuffled(mortal, 2)) for name, mortal in mortals.items()
        ]
        stack.enter_context(Pump(other.client("sqs"), sources))
        bucket = Bucket(other.bucket)
        bucket.write(keys.INBOX + "file.jsonl", text)
        batch = ended(bucket)
    assert chaos.killed == LIVES
    assert chaos.failed > 5
    assert batch["request_counts"] == {"total": LINES, "completed": len(good), "failed": len(bad)}
    assert batch["status"] == "completed"
    assert results(bucket, batch) == results(quiet.bucket, quiet.batch())


def ended(bucket: Bucket) -> Json:
    """The one batch of a bucket when it has ended."""
    for _ in range(WAIT * 2):
        for entry in bucket.entries(keys.STATUSES):
            batch = status.read(bucket, entry.key.removeprefix(keys.STATUSES).removesuffix(".json"))
            if batch is not None and status.RANKS[batch["status"]] == status.ENDED:
                return batch
        threading.Event().wait(0.5)
    raise TimeoutError


def results(bucket: Bucket, batch: Json) -> list[list[Json]]:
    """Output and errors, without ids and times of a run."""
    found = [bucket.get(keys.key_of(batch[name])) for name in ("output_file_id", "error_file_id")]
    return [[_plain(row, batch["id"]) for row in content[0].splitlines()] for content in found if content]


def _plain(row: bytes, batch: str) -> Json:
    value: Json = json.loads(row.replace(batch.encode(), b"BATCH"))
    value["id"] = None
    body = (value["response"] or {}).get("body")
    if isinstance(body, dict):
        for name in ("created", "request_id", "id"):
            body.pop(name, None)
    return value
