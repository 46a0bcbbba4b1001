"""Work: a shard's lines become one part object, exactly once, however often its message comes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from renderlayer.batch import keys
from renderlayer.batch.claims import Shard
from renderlayer.batch.lines import LineError, Request, Result, custom_id_of, failed, judged, numbered, too_long
from renderlayer.batch.parts import noted, part_of, remembered
from renderlayer.batch.queue import LONGEST_DELAY, Queue
from renderlayer.batch.running import Endpoint, Run
from renderlayer.batch.store import Bucket
from renderlayer.references.store import Gone

RESERVE = 120
"""Seconds before the function's end after which no line is begun; of a short time a quarter."""

CANCELLED, EXPIRED, ABANDONED = "cancelled", "expired", "abandoned"
UNBEGUN = {
    CANCELLED: LineError("batch_cancelled", "This request was not executed before the batch was cancelled."),
    EXPIRED: LineError("batch_expired", "This request could not be executed before the completion window expired."),
    ABANDONED: LineError("server_error", "This request's part of the batch failed repeatedly and was given up."),
}
INPUT_GONE = LineError("input_gone", "The input file was replaced or removed before this line was read.")

Json = dict[str, Any]


@dataclass(frozen=True)
class Worker:
    """What working needs; `concurrency` is the number of lines that wait for the engine at a time."""

    bucket: Bucket
    shards: Queue
    endpoints: Mapping[str, Endpoint]
    concurrency: int

    def receive(self, message: Json, time_left: Callable[[], float]) -> Json:
        """Work on a shard's message.

        Where the engine is busy or the time is short, what is done is noted and the shard goes back to the queue as a
        new message: waiting is no failure, which the queue would count until it gives the shard up.

        Returns:
            What happened, for the log.
        """
        shard = Shard.read(message)
        told: Json = {"batch": shard.job.batch, "shard": shard.number}
        if self._has_part(shard):
            return {**told, "outcome": "known"}
        ended = self._ended(shard)
        if ended:
            return {**told, **self._give_up(shard, ended)}
        reserve = min(RESERVE, time_left() / 4)
        run = Run(shard.job.batch, self.endpoints, time_left, reserve, self._remembered(shard))
        before = len(run.done)
        try:
            run.run(self._requests(shard, run.done), self.concurrency)
        except Gone:
            return {**told, **self._give_up(shard, ABANDONED)}
        if len(run.done) < shard.cut.requests:
            self._return(shard, run, len(run.done) > before)
            return {**told, "outcome": "returned", "done": len(run.done)}
        return {**told, **self._finish(shard, dict(run.done))}

    def abandon(self, message: Json) -> Json:
        """Give up a shard that came back as a dead letter: lines that are done count, the rest fail."""
        shard = Shard.read(message)
        told = {"batch": shard.job.batch, "shard": shard.number}
        if self._has_part(shard):
            return {**told, "outcome": "known"}
        return {**told, **self._give_up(shard, ABANDONED)}

    def _has_part(self, shard: Shard) -> bool:
        return self.bucket.head(keys.part(shard.job.batch, shard.number)) is not None

    def _ended(self, shard: Shard) -> str:
        if time.time() >= shard.job.expires_at:
            return EXPIRED
        return CANCELLED if self.bucket.head(keys.cancelled(shard.job.batch)) is not None else ""

    def _remembered(self, shard: Shard) -> dict[int, Result]:
        kept = self.bucket.get(keys.unfinished(shard.job.batch, shard.number))
        return {} if kept is None else remembered(kept[0])

    def _texts(self, shard: Shard) -> Iterator[tuple[int, bytes]]:
        cut = shard.cut
        return numbered(self.bucket.range(shard.job.source, cut.start, cut.end), cut.first_line)

    def _requests(self, shard: Shard, done: dict[int, Result]) -> Iterator[tuple[int, Request]]:
        """The lines that are to be done; those that are no requests are put into `done` as failed."""
        batch, cut = shard.job.batch, shard.cut
        if cut.too_long:
            done[cut.first_line] = failed(batch, cut.first_line, too_long())
            return
        urls = {shard.job.endpoint} & self.endpoints.keys() if shard.job.endpoint else self.endpoints.keys()
        duplicates = frozenset(cut.duplicates)
        for number, text in self._texts(shard):
            if number in done:
                continue
            try:
                yield number, judged(text, urls, number in duplicates)
            except LineError as error:
                done[number] = failed(batch, number, error)

    def _return(self, shard: Shard, run: Run, progressed: bool) -> None:
        self.bucket.write(keys.unfinished(shard.job.batch, shard.number), noted(dict(run.done)))
        back = shard.returned(progressed)
        delay = (run.retry_after or 0) << min(back.idle, 9)
        self.shards.send([back.message()], min(delay, LONGEST_DELAY))

    def _give_up(self, shard: Shard, ended: str) -> Json:
        """A part in which the lines that are not done have failed."""
        batch, cut = shard.job.batch, shard.cut
        done = self._remembered(shard)
        if cut.too_long:
            done[cut.first_line] = failed(batch, cut.first_line, too_long())
        try:
            for number, text in self._texts(shard) if not cut.too_long else ():
                if number not in done:
                    error = UNBEGUN[ended]
                    done[number] = failed(batch, number, LineError(error.code, str(error), custom_id_of(text)))
        except Gone:
            done |= {-at: failed(batch, cut.first_line, INPUT_GONE) for at in range(1, cut.requests - len(done) + 1)}
        return self._finish(shard, done, ended)

    def _finish(self, shard: Shard, done: dict[int, Result], ended: str = "") -> Json:
        data, facts = part_of(done, ended)
        won = self.bucket.create(keys.part(shard.job.batch, shard.number), data, facts.metadata())
        outcome = (ended or "done") if won else "known"
        return {"outcome": outcome, "completed": facts.completed, "failed": facts.failed}
