"""A function that a queue calls: messages in, a partial batch response and log lines out. Never what was said."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from renderlayer.batch.queue import each_record
from renderlayer.batch.split import deadline
from renderlayer.errors import RenderLayerError

Json = dict[str, Any]
# (message, seconds left) -> what happened
Receive = Callable[[Json, Callable[[], float]], Json | list[Json]]


@dataclass(frozen=True)
class Consumer:
    """A handler `(event, context) -> partial batch response`.

    Args:
        service: the function's name in the log.
        make: makes what receives messages, when the first event comes.
    """

    service: str
    make: Callable[[], Receive]

    def __call__(self, event: Json, context: Any) -> Json:
        receive = self.make()
        time_left = deadline(context)

        def work(message: Json) -> None:
            began = time.perf_counter()
            told = receive(message, time_left)
            milliseconds = round((time.perf_counter() - began) * 1e3, 3)
            for row in told if isinstance(told, list) else [told]:
                self._log("INFO", duration_ms=milliseconds, **row)

        return each_record(event, work, self._failed)

    def _failed(self, message: Json, error: Exception) -> None:
        known = isinstance(error, RenderLayerError)
        self._log("ERROR", error=type(error).__name__, **({"reason": str(error)} if known else {}))

    def _log(self, level: str, **row: Any) -> None:
        line = {"level": level, "message": "batch", "service": self.service, **row}
        # one write, so that lines of concurrent records do not mix
        sys.stdout.write(json.dumps(line, separators=(",", ":")) + "\n")
        sys.stdout.flush()
