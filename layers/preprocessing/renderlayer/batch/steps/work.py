"""Work: a shard's lines become one part object, exactly once, however often its message comes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from renderlayer.batch.steps.claims import Shard
from renderlayer.batch.steps.failure import INPUT_GONE, INVALID_FILE, fail
from renderlayer.batch.steps.lines import LineError, Request, Result, custom_id_of, failed, judged, numbered, too_long
from renderlayer.batch.steps.parts import noted, part_of, remembered
from renderlayer.batch.steps.running import LineEndpoint, Run
from renderlayer.batch.storage import keys
from renderlayer.batch.storage.queue import LONGEST_DELAY, Queue
from renderlayer.storage.bucket import Bucket
from renderlayer.storage.objects import Gone

RESERVE = 120
"""Seconds before the function's end after which no line is begun; of a short time a quarter."""

CANCELLED, EXPIRED, ABANDONED = "cancelled", "expired", "abandoned"
ENGINE_FAILURES = 4
"""Times in a row that a shard whose lines all fail in the engine goes back to the queue before the failures stand."""
UNBEGUN = {
    CANCELLED: LineError("batch_cancelled", "This request was not executed before the batch was cancelled."),
    EXPIRED: LineError("batch_expired", "This request could not be executed before the completion window expired."),
    ABANDONED: LineError("server_error", "This request's part of the batch failed repeatedly and was given up."),
}

Json = dict[str, Any]


@dataclass(frozen=True)
class Worker:
    """What working needs; `concurrency` is the number of lines that wait for the engine at a time."""

    bucket: Bucket
    shards: Queue
    endpoints: Mapping[str, LineEndpoint]
    concurrency: int

    def receive(self, message: Json, time_left: Callable[[], float]) -> Json:
        """Work on a shard's message.

        Where the engine is busy or the time is short, what is done is noted and the shard goes back to the queue as a
        new message: waiting is no failure, which the queue would count until it gives the shard up. So it does where
        the engine failed on a line, which may be one that it had when it was restarted; a line that fails again and
        again ends with its error. A batch that ends meanwhile keeps what is done.

        Returns:
            What happened, for the log.
        """
        shard = Shard.read(message)
        row: Json = {"batch": shard.job.batch, "shard": shard.number}
        with ThreadPoolExecutor(4, thread_name_prefix="open") as pool:  # one wait for the store instead of four
            known = pool.submit(self._has_part, shard)
            ended = pool.submit(self._ended, shard)
            kept = pool.submit(self._remembered, shard)
            data = pool.submit(self._read, shard)
        if known.result():
            return {**row, "outcome": "known"}
        run = Run(
            batch=shard.job.batch,
            endpoints=self.endpoints,
            time_left=time_left,
            reserve=min(RESERVE, time_left() / 4),
            look=lambda: self._ended(shard),
            done=kept.result(),
            ended=ended.result(),
            patient=shard.failing < ENGINE_FAILURES,
        )
        return {**row, **self._work(shard, run, data.result)}

    def abandon(self, message: Json) -> Json:
        """Give up a shard that came back as a dead letter: lines that are done count, the rest fail."""
        shard = Shard.read(message)
        row = {"batch": shard.job.batch, "shard": shard.number}
        if self._has_part(shard):
            return {**row, "outcome": "known"}
        return {**row, **self._give_up(shard, ABANDONED, self._remembered(shard))}

    def _work(self, shard: Shard, run: Run, data: Callable[[], bytes]) -> Json:
        before = len(run.done)
        try:
            if not run.ended:
                run.run(self._requests(shard, data(), run.done), self.concurrency)
        except Gone:
            return self._fail(shard)
        done = dict(run.done)
        if len(done) >= shard.cut.requests:
            return self._finish(shard, done)
        if run.ended:
            return self._give_up(shard, run.ended, done)
        self._return(shard, done, run, len(done) > before)
        return {"outcome": "returned", "done": len(done), "waiting_for": "engine" if run.retry_after else "time"}

    def _has_part(self, shard: Shard) -> bool:
        return self.bucket.head(keys.part(shard.job.batch, shard.number)) is not None

    def _ended(self, shard: Shard) -> str:
        if time.time() >= shard.job.expires_at:
            return EXPIRED
        return CANCELLED if self.bucket.head(keys.cancelled(shard.job.batch)) is not None else ""

    def _remembered(self, shard: Shard) -> dict[int, Result]:
        kept = self.bucket.get(keys.unfinished(shard.job.batch, shard.number))
        return {} if kept is None else remembered(kept[0])

    def _read(self, shard: Shard) -> bytes:
        """The shard's lines; none where it is one that is too long to be read."""
        return b"" if shard.cut.too_long else self.bucket.range(shard.job.source, shard.cut.start, shard.cut.end)

    def _requests(self, shard: Shard, data: bytes, done: dict[int, Result]) -> Iterator[tuple[int, Request]]:
        """The lines that are to be done; those that are no requests are put into `done` as failed."""
        batch, cut = shard.job.batch, shard.cut
        if cut.too_long:
            done[cut.first_line] = failed(batch, cut.first_line, too_long())
            return
        urls = {shard.job.endpoint} & self.endpoints.keys() if shard.job.endpoint else self.endpoints.keys()
        duplicates = frozenset(cut.duplicates)
        for number, text in numbered(data, cut.first_line):
            if number in done:
                continue
            try:
                yield number, judged(text, urls, number in duplicates)
            except LineError as error:
                done[number] = failed(batch, number, error)

    def _return(self, shard: Shard, done: dict[int, Result], run: Run, progressed: bool) -> None:
        self.bucket.write(keys.unfinished(shard.job.batch, shard.number), noted(done))
        back = shard.returned(progressed, run.failed > 0)
        delay = (run.retry_after or 0) << min(back.idle, 9)
        self.shards.send([back.message()], min(delay, LONGEST_DELAY))

    def _give_up(self, shard: Shard, ended: str, done: dict[int, Result]) -> Json:
        """A part in which the lines that are not done have failed."""
        batch, cut = shard.job.batch, shard.cut
        if cut.too_long:
            done[cut.first_line] = failed(batch, cut.first_line, too_long())
        try:
            for number, text in numbered(self._read(shard), cut.first_line):
                if number not in done:
                    error = UNBEGUN[ended]
                    done[number] = failed(batch, number, LineError(error.code, str(error), custom_id_of(text)))
        except Gone:
            return self._fail(shard)
        return self._finish(shard, done, ended)

    def _fail(self, shard: Shard) -> Json:
        """End the batch of a file that is gone: nobody can say which lines it had. What is done stays."""
        batch = shard.job.batch
        fail(self.bucket, batch, INVALID_FILE, f"{INPUT_GONE} Results so far are in {keys.parts(batch)}.")
        self.bucket.create(keys.cancelled(batch), b"")  # its other shards need no work
        return {"outcome": "failed"}

    def _finish(self, shard: Shard, done: dict[int, Result], ended: str = "") -> Json:
        data, facts = part_of(done, ended)
        won = self.bucket.create(keys.part(shard.job.batch, shard.number), data, facts.metadata())
        outcome = (ended or "done") if won else "known"
        return {"outcome": outcome, "completed": facts.completed, "failed": facts.failed}
