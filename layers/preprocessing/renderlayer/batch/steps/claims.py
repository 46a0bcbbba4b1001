"""What travels in messages: claim checks, never data."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from renderlayer.batch.steps.sharder import Limits, ShardRange
from renderlayer.storage.bucket import Source

Json = dict[str, Any]


@dataclass(frozen=True)
class Job:
    """A batch as every step needs to know it.

    Attributes:
        batch: its id.
        source: the version of the file that it reads.
        expires_at: Unix seconds after which lines are not begun any more.
        endpoint: the one URL that its lines may name; empty for any.
    """

    batch: str
    source: Source
    expires_at: int
    endpoint: str = ""


@dataclass(frozen=True)
class Split:
    """A file that is to be split from some shard on.

    Attributes:
        size: bytes of the file.
        limits: travels along, so that a deployment in between does not change where shards end.
        shard, at, line: the next shard's number, first byte and first line.
        requests, objects: what was counted before it.
    """

    job: Job
    size: int
    limits: Limits
    shard: int = 0
    at: int = 0
    line: int = 1
    requests: int = 0
    objects: int = 0

    def message(self) -> Json:
        return {"split": asdict(self)}

    @classmethod
    def read(cls, message: Json) -> Split:
        given = message["split"]
        return cls(**{**given, "job": _job(given["job"]), "limits": Limits(**given["limits"])})


@dataclass(frozen=True)
class Shard:
    """A shard to be worked on.

    Attributes:
        number: its place among the shards, from 0.
        idle: times in a row that it went back to the queue without a line done.
        failing: how many of these times the engine had failed on all lines that it was asked.
    """

    job: Job
    number: int
    cut: ShardRange
    idle: int = 0
    failing: int = 0

    def message(self) -> Json:
        return {"shard": asdict(self)}

    @classmethod
    def read(cls, message: Json) -> Shard:
        given = message["shard"]
        cut = ShardRange(**{**given["cut"], "duplicates": tuple(given["cut"]["duplicates"])})
        return cls(_job(given["job"]), given["number"], cut, given["idle"], given.get("failing", 0))

    def returned(self, progressed: bool, failing: bool = False) -> Shard:
        """The shard as it goes back to the queue."""
        if progressed:
            return replace(self, idle=0, failing=0)
        return replace(self, idle=self.idle + 1, failing=self.failing + failing)


def _job(given: Json) -> Job:
    return Job(**{**given, "source": Source(**given["source"])})
