"""Part objects and the notes of unfinished shards: how a shard's results are kept."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import orjson

from renderlayer.batch.steps.lines import Result

ENDED = "ended"


@dataclass(frozen=True)
class PartFacts:
    """What a part's metadata say of it.

    Attributes:
        completed, failed: lines of either kind.
        boundary: bytes of the output lines, behind which the error lines begin.
        size: bytes of both.
        ended: why lines were not begun: "cancelled", "expired" or "".
    """

    completed: int
    failed: int
    boundary: int
    size: int
    ended: str = ""

    def metadata(self) -> dict[str, str]:
        return {
            "completed": str(self.completed),
            "failed": str(self.failed),
            "boundary": str(self.boundary),
            ENDED: self.ended,
        }

    @classmethod
    def read(cls, metadata: Mapping[str, str], size: int) -> PartFacts:
        completed, failed, boundary = (int(metadata[name]) for name in ("completed", "failed", "boundary"))
        return cls(completed, failed, boundary, size, metadata.get(ENDED, ""))


def part_of(results: Mapping[int, Result], ended: str = "") -> tuple[bytes, PartFacts]:
    """A part's content: output lines, then error lines, each in the order of the input."""
    ordered = [results[number] for number in sorted(results)]
    good = [result.text for result in ordered if result.ok]
    bad = [result.text for result in ordered if not result.ok]
    content = b"".join([*good, *bad])
    return content, PartFacts(len(good), len(bad), sum(map(len, good)), len(content), ended)


def noted(results: Mapping[int, Result]) -> bytes:
    """The results of an unfinished shard, to go on from."""
    rows = ((number, result.ok, base64.b64encode(result.text).decode()) for number, result in results.items())
    return b"".join(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in rows)


def remembered(data: bytes) -> dict[int, Result]:
    """What `noted` wrote."""
    rows: Iterable[tuple[int, bool, str]] = map(orjson.loads, data.splitlines())
    return {number: Result(ok, base64.b64decode(text)) for number, ok, text in rows}
