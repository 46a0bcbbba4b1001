"""What a server writes to standard error: one line a request, and what goes wrong. Never what was said.

Functions write records of their own (`journal.py`).
"""

from __future__ import annotations

import json
import logging
import sys
import time

from starlette.types import ASGIApp, Receive, Scope, Send

from renderlayer.http.execution.work import LEFT, Watch
from renderlayer.settings import Settings

LONGEST = 200
"""Characters of a path that are logged."""
FIELDS = "renderlayer_fields"
"""Attribute of a record that holds what its text tells, by name."""

access = logging.getLogger("renderlayer.access")


def configure_logs(settings: Settings) -> None:
    """Write the log as the settings say, whatever wrote it before."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if settings.log_format == "json" else logging.Formatter(TEXT))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("renderlayer").setLevel(settings.log_level.upper())


TEXT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class JsonFormatter(logging.Formatter):
    """A record as one JSON object."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{record.msecs:03.0f}Z",
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, FIELDS, {}),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


class AccessLog:
    """ASGI middleware that writes a line for each request when its answer has ended: method, path, status,
    milliseconds, tokens. A client that left before has the status 499.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not access.isEnabledFor(logging.INFO):
            return await self._app(scope, receive, send)
        watch = Watch(scope, send)
        try:
            await self._app(scope, receive, watch.send)
        finally:
            milliseconds = round(watch.seconds * 1e3, 1)
            counts = {name: count for name, count in watch.counts.items() if name != LEFT}
            fields = {
                "method": scope["method"],
                "path": scope["path"][:LONGEST],
                "status": watch.status,
                "duration_ms": milliseconds,
                **counts,
            }
            tokens = "".join(f" {name}={number}" for name, number in counts.items())
            text = f"{fields['method']} {fields['path']!a} {fields['status']} {milliseconds} ms{tokens}"
            access.info(text.replace("'", ""), extra={FIELDS: fields})
