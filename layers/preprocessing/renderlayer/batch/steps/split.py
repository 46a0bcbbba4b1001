"""Split: a file's bytes go by once; its shards go to the queue as claim checks, and the manifest tells how many."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import orjson

from renderlayer.batch.steps.claims import Job, Shard, Split
from renderlayer.batch.steps.failure import INPUT_GONE, INVALID_FILE, SERVER_ERROR, fail
from renderlayer.batch.steps.fingerprints import STRIPES, FingerprintSet
from renderlayer.batch.steps.sharder import Limits, Sharder, ShardRange
from renderlayer.batch.storage import keys, status
from renderlayer.batch.storage.queue import AT_A_TIME, Queue
from renderlayer.storage.bucket import Bucket
from renderlayer.storage.objects import Gone

PIECE = 8 << 20
"""Bytes of the file that are read at a time."""
RESERVE = 60
"""Seconds before the function's end when the rest is handed on."""
FOREIGN = (b"\xff\xfe", b"\xfe\xff", b"\x00", b"\x1f\x8b", b"PK\x03\x04")
"""Beginnings of files in UTF-16 or UTF-32, and of compressed ones."""

Json = dict[str, Any]


@dataclass(frozen=True)
class Splitter:
    """What splitting needs.

    Args:
        limits: where shards of new batches end.
        hours: how long a dropped file may take.
    """

    bucket: Bucket
    splits: Queue
    shards: Queue
    limits: Limits
    hours: float

    def receive(self, message: Json, time_left: Callable[[], float]) -> list[Json]:
        """Work on a message: an event of S3 that a file or an order has come, or a file that is to be gone on with.

        Args:
            time_left: seconds until the function's end.

        Returns:
            What happened to each batch, for the log.
        """
        return [self._split(split, time_left) for split in self._meant(message)]

    def abandon(self, message: Json) -> list[Json]:
        """End the batches of a message that came back as a dead letter, unless their files are split."""
        return [self._abandon(split.job.batch) for split in self._meant(message)]

    def _meant(self, message: Json) -> Iterator[Split]:
        """The files, each from where it is to be split on."""
        if "split" in message:
            yield Split.read(message)
        for key in keys.in_event(message):
            batch = keys.ordered(key)
            begun = self._ordered(batch) if batch else self._dropped(key)
            if begun is not None:
                yield begun

    def _dropped(self, key: str) -> Split | None:
        """The batch of a file that came; None when the file is gone again."""
        found = self.bucket.source(key)
        if found is None:
            return None
        source, stored = found
        created = int(stored.modified)
        batch = keys.batch_id(created, f"{self.bucket.name}/{key}/{source.version or source.etag}")
        expires_at = created + int(self.hours * 3600)
        status.begin(self.bucket, status.new(batch, keys.file_id(key), created, expires_at, ""))
        return Split(Job(batch, source, expires_at), stored.size, self.limits)

    def _ordered(self, ordered: str) -> Split | None:
        """The batch that the API ordered; None when it is no order of the API's, or its file is gone."""
        batch = status.read(self.bucket, ordered)
        if batch is None:
            return None
        found = self.bucket.source(keys.key_of(batch["input_file_id"]))
        if found is None:
            fail(self.bucket, batch["id"], INVALID_FILE, "The input file is gone.")
            return None
        source, stored = found
        job = Job(batch["id"], source, batch["expires_at"], batch["endpoint"])
        return Split(job, stored.size, self.limits)

    def _split(self, split: Split, time_left: Callable[[], float]) -> Json:
        batch = split.job.batch
        row: Json = {"batch": batch, "first_shard": split.shard}
        if self.bucket.head(keys.manifest(batch)) is not None:
            return {**row, "outcome": "known"}
        try:
            broken = self._broken(split) if split.at == 0 else None
            if broken is None:
                split = self._cut(split, time_left)
        except Gone:
            broken = INPUT_GONE
        if broken is None and split.at == split.size and split.objects == 0:
            broken = "No line of the file is a JSON object." if split.requests else "The file has no lines."
        if broken is not None:
            fail(self.bucket, batch, INVALID_FILE, broken)
            return {**row, "outcome": "failed"}
        counts = {"total": split.requests}
        if split.at < split.size:
            self.splits.send([split.message()])
            status.update(self.bucket, batch, lambda now: status.advanced(now, "in_progress", counts))
            return {**row, "outcome": "handed_on", "shards": split.shard}
        status.update(self.bucket, batch, lambda now: status.advanced(now, "in_progress", counts))
        self.bucket.create(keys.manifest(batch), orjson.dumps({"shards": split.shard, "requests": split.requests}))
        return {**row, "outcome": "split", "shards": split.shard, "requests": split.requests}

    def _broken(self, split: Split) -> str | None:
        """Why the file cannot be one of JSON lines."""
        start = self.bucket.range(split.job.source, 0, min(4, split.size))
        return "The file is compressed, or not in UTF-8." if start.startswith(FOREIGN) else None

    def _cut(self, split: Split, time_left: Callable[[], float]) -> Split:
        """Send shards until the file or the time ends; where it stands then.

        A function that ends in the middle is begun again by its message and sends the same shards once more; whoever
        works on them finds the parts that are there already.
        """
        cutter = Sharder(split.limits, self._seen(split), split.at, split.line, split.objects)
        number, requests = split.shard, split.requests
        waiting: list[Json] = []
        for cut in self._cuts(cutter, split):
            waiting.append(Shard(split.job, number, cut).message())
            number += 1
            requests += cut.requests
            if len(waiting) == AT_A_TIME:
                self.shards.send(waiting)
                waiting = []
                if time_left() < RESERVE:
                    break
        self.shards.send(waiting)
        reached = replace(
            split, shard=number, at=cutter.at, line=cutter.line, requests=requests, objects=cutter.objects
        )
        if reached.at < reached.size:
            for stripe, content in enumerate(cutter.seen.packed()):
                self.bucket.write(keys.fingerprints(split.job.batch, number, stripe), content)
        return reached

    def _cuts(self, cutter: Sharder, split: Split) -> Iterator[ShardRange]:
        for start in range(split.at, split.size, PIECE):
            yield from cutter.feed(self.bucket.range(split.job.source, start, min(start + PIECE, split.size)))
        yield from cutter.finish()

    def _seen(self, split: Split) -> FingerprintSet:
        return FingerprintSet(self._stripes(split)) if split.shard else FingerprintSet()

    def _stripes(self, split: Split) -> Iterator[bytes]:
        for stripe in range(STRIPES):
            kept = self.bucket.get(keys.fingerprints(split.job.batch, split.shard, stripe))
            if kept is None:
                raise Gone  # removed by the lifecycle rule, days after it was written
            yield kept[0]

    def _abandon(self, batch: str) -> Json:
        if self.bucket.head(keys.manifest(batch)) is not None:
            return {"batch": batch, "outcome": "known"}
        fail(self.bucket, batch, SERVER_ERROR, "The file could not be split: the service failed on it repeatedly.")
        self.bucket.create(keys.cancelled(batch), b"")  # its shards so far need no work
        return {"batch": batch, "outcome": "failed"}


def deadline(context: Any) -> Callable[[], float]:
    """Seconds left of an invocation, as Lambda's context tells; without one there is no end."""
    remaining = getattr(context, "get_remaining_time_in_millis", None)
    if remaining is None:
        return lambda: float("inf")
    end = time.monotonic() + remaining() / 1000
    return lambda: end - time.monotonic()
