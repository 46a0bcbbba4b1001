"""Join: once every part of a manifest is there, the parts become the batch's output and error files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote_plus

import orjson

from renderlayer.batch import keys, status
from renderlayer.batch.assembly import Segment, assemble
from renderlayer.batch.parts import PartFacts
from renderlayer.batch.store import Bucket
from renderlayer.batch.work import CANCELLED, EXPIRED
from renderlayer.errors import Unavailable

AT_A_TIME = 16

Json = dict[str, Any]


@dataclass(frozen=True)
class Joiner:
    """Looks after batches of a bucket."""

    bucket: Bucket

    def receive(self, message: Json, looked_at: set[str] | None = None) -> list[Json]:
        """Work on an event of S3 that parts or manifests have come.

        Args:
            looked_at: batches that were looked at since the event came, which need no other look; it grows.

        Returns:
            What happened to each batch, for the log.
        """
        looked_at = set() if looked_at is None else looked_at
        keys_told = (unquote_plus(record["s3"]["object"]["key"]) for record in message.get("Records", ()))
        told = []
        for batch in sorted({keys.batch_of(key) for key in keys_told} - looked_at):
            told.append(self.look(batch))
            looked_at.add(batch)
        return told

    def look(self, batch: str) -> Json:
        """Bring a batch's status up to date, and finish it when all of its parts are there. May be done at any time.

        Raises:
            Unavailable: the store failed.
        """
        told: Json = {"batch": batch}
        facts = self._facts(batch)
        counts = {
            "completed": sum(part.completed for part in facts.values()),
            "failed": sum(part.failed for part in facts.values()),
        }
        manifest = self.bucket.get(keys.manifest(batch))
        shards = None if manifest is None else orjson.loads(manifest[0])["shards"]
        if shards is None or len(facts) < shards:
            status.update(self.bucket, batch, lambda now: status.advanced(now, "in_progress", counts))
            return {**told, "outcome": "waiting", "parts": len(facts), "shards": shards}
        now = status.update(self.bucket, batch, lambda now: status.advanced(now, "finalizing", counts))
        if now is None or status.RANKS[now["status"]] == status.ENDED:
            return {**told, "outcome": "known"}
        files = {
            "output_file_id": self._file(keys.output(batch), self._segments(batch, facts, output=True)),
            "error_file_id": self._file(keys.errors(batch), self._segments(batch, facts, output=False)),
        }
        ending = self._ending(now, facts.values())
        status.update(self.bucket, batch, lambda now: status.advanced(now, ending, counts, **files))
        return {**told, "outcome": ending, "parts": len(facts), **counts}

    def _facts(self, batch: str) -> dict[int, PartFacts]:
        """Facts of the parts that are there, by shard.

        Parts do not change, so what is known of them is kept; a note that is lost or written over by an older one only
        costs asking again.
        """
        note = self.bucket.get(keys.progress(batch))
        rows: list[list[Any]] = orjson.loads(note[0]) if note else []
        facts = {number: PartFacts(*rest) for number, *rest in rows}
        found = {entry.key for entry in self.bucket.entries(keys.parts(batch))} - {keys.manifest(batch)}
        fresh = sorted(found - {keys.part(batch, number) for number in facts})
        if fresh:
            with ThreadPoolExecutor(AT_A_TIME, thread_name_prefix="part") as pool:
                facts |= {int(key[-9:]): fact for key, fact in zip(fresh, pool.map(self._part, fresh), strict=True)}
            rows = [[number, *vars(fact).values()] for number, fact in sorted(facts.items())]
            self.bucket.write(keys.progress(batch), orjson.dumps(rows))
        return facts

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

    def _file(self, key: str, segments: list[Segment]) -> str | None:
        """Make a file of the batch, unless it is there; its id, None when it would be empty."""
        if not segments:
            return None
        if self.bucket.head(key) is None:
            assemble(self.bucket, key, segments)
        return keys.file_id(key)

    def _ending(self, batch: Json, parts: Iterable[PartFacts]) -> str:
        ended = {part.ended for part in parts}
        if CANCELLED in ended or batch["cancelling_at"] is not None:
            return "cancelled"
        return "expired" if EXPIRED in ended else "completed"
