"""The steps over a test's cloud, with endpoints that answer as a test says."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from infra.local.batch_cloud import Cloud
from renderlayer.batch.steps.claims import Job, Shard
from renderlayer.batch.steps.dead_letters import DeadLetterHandler
from renderlayer.batch.steps.join import Joiner
from renderlayer.batch.steps.running import LineEndpoint
from renderlayer.batch.steps.sharder import Limits
from renderlayer.batch.steps.split import Splitter
from renderlayer.batch.steps.work import Worker
from renderlayer.batch.storage import keys, status
from renderlayer.batch.storage.queue import Queue
from renderlayer.storage.bucket import Bucket

ECHO, ENGINE = "/echo", "/engine"
FOUR_LINES = Limits(1 << 20, 4)
Json = dict[str, Any]


def forever() -> float:
    return float("inf")


def echo(body: Any, request_id: str) -> Any:
    return {"echo": body}


class Steps:
    """Splitter, worker and joiner of one bucket.

    Args:
        engine: what `ENGINE` does; `ECHO` gives the body back.
        endpoints: others than these two.
    """

    def __init__(
        self,
        cloud: Cloud,
        engine: Callable[[Any, str], Any] = echo,
        limits: Limits = FOUR_LINES,
        concurrency: int = 4,
        endpoints: Mapping[str, LineEndpoint] | None = None,
    ) -> None:
        self.cloud = cloud
        self.bucket = Bucket(cloud.bucket)
        self.queues = {name: Queue(url) for name, url in cloud.queues.items()}
        endpoints = endpoints or {ECHO: LineEndpoint(echo, False), ENGINE: LineEndpoint(engine, True)}
        self.splitter = Splitter(self.bucket, self.queues["split"], self.queues["work"], limits, 24)
        self.worker = Worker(self.bucket, self.queues["work"], endpoints, concurrency)
        self.joiner = Joiner(self.bucket)
        self.undertaker = DeadLetterHandler(self.splitter, self.worker, self.joiner)

    def received(self, queue: str) -> list[Json]:
        """Messages of a queue, which are taken off it; those that are delayed as well."""
        sqs, url = self.cloud.client("sqs"), self.cloud.queues[queue]
        found: list[Json] = []
        while messages := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
            for message in messages:
                sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
                found.append(json.loads(message["Body"]))
        return [message for message in found if message.get("Event") != "s3:TestEvent"]

    def waiting(self, queue: str) -> int:
        """Messages of a queue that are delayed."""
        name = "ApproximateNumberOfMessagesDelayed"
        url = self.cloud.queues[queue]
        got = self.cloud.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=[name])
        return int(got["Attributes"][name])

    def drop(self, content: bytes, name: str = "file.jsonl") -> list[Json]:
        """Put a file into the inbox; the messages that tell of it."""
        self.bucket.write(keys.INBOX + name, content)
        return self.received("split")

    def split(self, content: bytes) -> list[Shard]:
        """Drop a file and split it; its shards."""
        for message in self.drop(content):
            self.splitter.receive(message, forever)
        return [Shard.read(message) for message in self.received("work")]

    def shard(self, content: bytes, **job: Any) -> Shard:
        """A file that is one shard."""
        (shard,) = self.split(content)
        chosen = {**vars(shard.job), "source": shard.job.source, **job}
        return Shard(Job(**chosen), shard.number, shard.cut)

    def finish(self) -> None:
        """Work on everything that is in the queues until nothing is left."""
        while True:
            messages = [(name, message) for name in ("split", "work", "join") for message in self.received(name)]
            if not messages:
                return
            for name, message in messages:
                if name == "split":
                    self.splitter.receive(message, forever)
                elif name == "work":
                    self.worker.receive(message, forever)
                else:
                    self.joiner.receive(message, forever)

    def batch(self) -> Json:
        """The one batch of the bucket."""
        (entry,) = self.bucket.entries(keys.STATUSES)
        found = status.read(self.bucket, entry.key.removeprefix(keys.STATUSES).removesuffix(".json"))
        assert found is not None
        return found

    def rows(self, file_id: str | None) -> list[Json]:
        """Lines of a file of the API."""
        found = self.bucket.get(keys.key_of(file_id)) if file_id else None
        return [json.loads(line) for line in found[0].splitlines()] if found else []

    def part(self, shard: Shard) -> list[Json]:
        """Lines of a shard's part."""
        found = self.bucket.get(keys.part(shard.job.batch, shard.number))
        assert found is not None
        return [json.loads(line) for line in found[0].splitlines()]


def lines(*bodies: Any, url: str = ECHO) -> bytes:
    """A file of one request a body; custom ids count from 1."""
    rows = [
        {"custom_id": f"r-{number}", "method": "POST", "url": url, "body": body}
        for number, body in enumerate(bodies, 1)
    ]
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def ids(rows: Sequence[Json]) -> list[str]:
    return [row["custom_id"] for row in rows]


def in_the_past() -> int:
    return int(time.time()) - 1
