"""A function that a queue calls: messages in, a partial batch response and log lines out. Never what was said."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from renderlayer.batch.steps.split import deadline
from renderlayer.batch.storage.queue import Retries, each_record
from renderlayer.errors import RenderLayerError, Unavailable

Json = dict[str, Any]
# (message, seconds left) -> what happened
Receive = Callable[[Json, Callable[[], float]], Json | list[Json]]


@dataclass(frozen=True)
class Consumer:
    """A handler `(event, context) -> partial batch response`.

    Args:
        service: the function's name in the log.
        make: makes what receives messages, when the first event comes.
        set_aside: takes a message that is no JSON object; without it such a message fails.
    """

    service: str
    make: Callable[[], Receive]
    set_aside: Callable[[str], None] | None = None
    _retries: Retries = field(default_factory=Retries)

    def __call__(self, event: Json, context: Any) -> Json:
        receive = self.make()
        time_left = deadline(context)

        def work(body: str) -> None:
            began = time.perf_counter()
            try:
                message = _object(body)
            except ValueError:
                if self.set_aside is None:
                    raise
                self.set_aside(body)
                self._log("ERROR", outcome="set_aside", reason="The message is no JSON object.")
                return
            outcome = receive(message, time_left)
            milliseconds = round((time.perf_counter() - began) * 1e3, 3)
            for row in outcome if isinstance(outcome, list) else [outcome]:
                self._log("INFO", duration_ms=milliseconds, **row)

        return each_record(event, work, self._failed)

    def run(self, work: Callable[[Callable[[], float]], list[Json]], context: Any) -> Json:
        """Do what no message asks for, and log what happened."""
        rows = work(deadline(context))
        for row in rows:
            self._log("INFO", **row)
        return {"looked_at": len(rows)}

    def _failed(self, record: Json, error: Exception) -> None:
        known = isinstance(error, RenderLayerError)
        try:
            again = self._retries.later(record)
        except Unavailable:
            again = None
        details = {**({"reason": str(error)} if known else {}), **({"again_in_s": again} if again is not None else {})}
        self._log("ERROR", error=type(error).__name__, **details)

    def _log(self, level: str, **row: Any) -> None:
        line = {"level": level, "message": "batch", "service": self.service, **row}
        # one write, so that lines of concurrent records do not mix
        sys.stdout.write(json.dumps(line, separators=(",", ":")) + "\n")
        sys.stdout.flush()


def _object(body: str) -> Json:
    """A message.

    Raises:
        ValueError: it is no JSON object.
    """
    message = json.loads(body)
    if not isinstance(message, dict):
        raise ValueError
    return message
