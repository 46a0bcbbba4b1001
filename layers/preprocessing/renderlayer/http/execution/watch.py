"""How an answer ends and how long it takes, for whoever writes that down: log lines and metrics."""

from __future__ import annotations

import time

from starlette.types import Message, Scope, Send

from renderlayer.http.execution.counts import COUNTS
from renderlayer.http.execution.disconnect import CLIENT_CLOSED_REQUEST, LEFT


class Watch:
    """Watches one answer on its way out; `send` takes the place of the server's.

    Attributes:
        counts: what the application counts on the way, by name.
    """

    def __init__(self, scope: Scope, send: Send) -> None:
        self.counts: dict[str, int] = scope.setdefault(COUNTS, {})
        self._send = send
        self._status = 500
        self._began = time.perf_counter()

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
        await self._send(message)

    @property
    def seconds(self) -> float:
        """Since the request came."""
        return time.perf_counter() - self._began

    @property
    def status(self) -> int:
        """The answer's; 500 where none has begun, 499 where the client left before its end."""
        return CLIENT_CLOSED_REQUEST if LEFT in self.counts else self._status
