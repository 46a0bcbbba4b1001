"""Join: once every part of a manifest is there, the parts become the batch's output and error files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import orjson

from renderlayer.batch.steps.assembly import Segment, assemble
from renderlayer.batch.steps.failure import SERVER_ERROR, fail
from renderlayer.batch.steps.parts import PartFacts
from renderlayer.batch.steps.work import CANCELLED, EXPIRED
from renderlayer.batch.storage import keys, status
from renderlayer.batch.storage.status import Batch
from renderlayer.errors import Unavailable
from renderlayer.storage.bucket import Bucket
from renderlayer.storage.objects import Gone

AT_A_TIME = 16
RESERVE = 120
"""Seconds before the function's end after which a sweep looks at no other batch."""

Json = dict[str, Any]


@dataclass(frozen=True)
class Joiner:
    """Looks after batches of a bucket."""

    bucket: Bucket

    def receive(self, message: Json, time_left: Callable[[], float], looked_at: set[str] | None = None) -> list[Json]:
        """Work on an event of S3 that parts, manifests or notes of an upload have come.

        Args:
            time_left: seconds until the function's end.
            looked_at: batches that were looked at since the event came, which need no other look; it grows.

        Returns:
            What happened to each batch, for the log.
        """
        looked_at = set() if looked_at is None else looked_at
        rows = []
        for batch in sorted(_meant(message) - looked_at):
            rows.append(self.look(batch, time_left))
            looked_at.add(batch)
        return rows

    def abandon(self, message: Json) -> list[Json]:
        """End the batches of a message that came back as a dead letter, unless parts are to come that look again."""
        return [self._abandon(batch) for batch in sorted(_meant(message))]

    def sweep(self, time_left: Callable[[], float]) -> list[Json]:
        """Look at every batch that has not ended, newest first: an event of a part may have been lost.

        Returns:
            What happened to each batch that went on, for the log.
        """
        rows = []
        for entry in self.bucket.entries(keys.STATUSES):
            if time_left() < RESERVE:
                break
            batch = entry.key.removeprefix(keys.STATUSES).removesuffix(".json")
            found = status.read(self.bucket, batch)
            if found is not None and status.RANKS[found["status"]] != status.ENDED:
                rows.append(self.look(batch, time_left))
        return rows

    def look(self, batch: str, time_left: Callable[[], float]) -> Json:
        """Bring a batch's status up to date, and finish it when all of its parts are there. May be done at any time.

        Where the time is short, how far it came is noted among the parts, and the note's event goes on with it.

        Raises:
            Unavailable: the store failed.
        """
        row: Json = {"batch": batch}
        facts = self._facts(batch)
        counts = {
            "completed": sum(part.completed for part in facts.values()),
            "failed": sum(part.failed for part in facts.values()),
        }
        shards = self._shards(batch)
        if shards is None or len(facts) < shards:
            status.update(self.bucket, batch, lambda now: status.advanced(now, "in_progress", counts))
            return {**row, "outcome": "waiting", "parts": len(facts), "shards": shards}
        now = status.update(self.bucket, batch, lambda now: status.advanced(now, "finalizing", counts))
        if now is None or status.RANKS[now["status"]] == status.ENDED:
            return {**row, "outcome": "known"}
        files: dict[str, str | None] = {}
        for field, key, segments in (
            ("output_file_id", keys.output(batch), self._segments(batch, facts, output=True)),
            ("error_file_id", keys.errors(batch), self._segments(batch, facts, output=False)),
        ):
            if not self._made(batch, key, segments, time_left):
                return {**row, "outcome": "handed_on"}
            files[field] = keys.file_id(key) if segments else None
        ending = self._ending(now, facts.values())
        status.update(self.bucket, batch, lambda now: status.advanced(now, ending, counts, **files))
        return {**row, "outcome": ending, "parts": len(facts), **counts}

    def _facts(self, batch: str) -> dict[int, PartFacts]:
        """Facts of the parts that are there, by shard.

        Parts do not change, so what is known of them is kept; a note that is lost or written over by an older one only
        costs asking again.
        """
        note = self.bucket.get(keys.progress(batch))
        rows: list[list[Any]] = orjson.loads(note[0]) if note else []
        facts = {number: PartFacts(*rest) for number, *rest in rows}
        fresh = sorted(self._parts(batch) - {keys.part(batch, number) for number in facts})
        if fresh:
            with ThreadPoolExecutor(AT_A_TIME, thread_name_prefix="part") as pool:
                facts |= {int(key[-9:]): fact for key, fact in zip(fresh, pool.map(self._part, fresh), strict=True)}
            rows = [[number, *vars(fact).values()] for number, fact in sorted(facts.items())]
            self.bucket.write(keys.progress(batch), orjson.dumps(rows))
        return facts

    def _parts(self, batch: str) -> set[str]:
        """Keys of the parts that are there."""
        others = {keys.manifest(batch), keys.upload(batch)}
        return {entry.key for entry in self.bucket.entries(keys.parts(batch))} - others

    def _shards(self, batch: str) -> int | None:
        """Shards of the batch; None while its file is being split."""
        manifest = self.bucket.get(keys.manifest(batch))
        return None if manifest is None else int(orjson.loads(manifest[0])["shards"])

    def _part(self, key: str) -> PartFacts:
        stored = self.bucket.head(key)
        if stored is None:
            raise Unavailable("A part that was listed is gone.")
        return PartFacts.read(stored.metadata, stored.size)

    def _segments(self, batch: str, facts: Mapping[int, PartFacts], output: bool) -> list[Segment]:
        """The output or the error lines of the parts, in order."""
        ranges = (
            Segment(keys.part(batch, number), 0, part.boundary)
            if output
            else Segment(keys.part(batch, number), part.boundary, part.size)
            for number, part in sorted(facts.items())
        )
        return [segment for segment in ranges if segment.size]

    def _made(self, batch: str, key: str, segments: list[Segment], time_left: Callable[[], float]) -> bool:
        """Make a file of the batch, unless it is there or would be empty; False when the rest was handed on."""
        if not segments or self.bucket.head(key) is not None:
            return True
        note = self.bucket.get(keys.upload(batch))
        kept = orjson.loads(note[0]) if note else {}
        try:
            upload = assemble(self.bucket, key, segments, time_left, kept.get(key))
        except Gone:  # the upload was completed by another look, or has expired
            self.bucket.delete(keys.upload(batch))
            raise Unavailable("An upload or a part is gone. Try again.") from None
        if upload is not None:
            self.bucket.write(keys.upload(batch), orjson.dumps({key: upload}))
        return upload is None

    def _abandon(self, batch: str) -> Json:
        row: Json = {"batch": batch}
        now = status.read(self.bucket, batch)
        if now is None or status.RANKS[now["status"]] == status.ENDED:
            return {**row, "outcome": "known"}
        shards = self._shards(batch)
        if shards is None or len(self._parts(batch)) < shards:
            return {**row, "outcome": "waiting"}
        message = f"The results could not be joined: the service failed repeatedly. They are in {keys.parts(batch)}."
        fail(self.bucket, batch, SERVER_ERROR, message)
        return {**row, "outcome": "failed"}

    def _ending(self, batch: Batch, parts: Iterable[PartFacts]) -> str:
        ended = {part.ended for part in parts}
        if CANCELLED in ended or batch["cancelling_at"] is not None:
            return "cancelled"
        return "expired" if EXPIRED in ended else "completed"


def _meant(message: Json) -> set[str]:
    """The batches whose parts, manifests or uploads an event of S3 tells of."""
    return {keys.batch_of(key) for key in keys.in_event(message)}
