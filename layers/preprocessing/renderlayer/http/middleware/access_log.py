"""One structured line a request: who asked, how it ended, how long it took, how many tokens. Never what was said.

The line is a record of CloudWatch's embedded metric format: its metrics (duration, tokens, errors, cold starts) are
graphed and alarmed on, its other keys are searched. Other modules log through `logging.getLogger(__name__)`; those
lines come out as JSON with the same request ids.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from renderlayer.http.execution.work import COUNTS
from renderlayer.http.request import header
from renderlayer.wire.common.json_text import compact

NAMESPACE = "renderlayer"
LONGEST = 200
"""Characters of a path or a request id that are logged."""

_COUNTED = {"prompt_tokens": "PromptTokens", "completion_tokens": "CompletionTokens"}
_UNITS = {"Duration": MetricUnit.Milliseconds}


class AccessLogMiddleware:
    """ASGI middleware that writes the line; outside of Lambda, a host writes its own, from `counts` of the context.

    Args:
        app: the application.
        service: name of the function: a dimension of its metrics, beside its name in Lambda.
    """

    def __init__(self, app: ASGIApp, service: str) -> None:
        self._app = app
        self._service = service
        inside = "AWS_LAMBDA_RUNTIME_API" in os.environ
        self._keys = Logger(service=NAMESPACE, location=None).registered_formatter if inside else None
        self._cold = True
        self._lock = threading.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._keys is None:
            scope.setdefault(COUNTS, getattr(scope["aws.context"], "counts", None))
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        answer = _Watch(send)
        ids = request_ids(scope)
        scope[COUNTS] = {}
        self._keys.thread_safe_append_keys(**ids)
        try:
            await self._app(scope, receive, answer)
        finally:
            self._keys.thread_safe_clear_keys()
        milliseconds = (time.perf_counter() - began) * 1e3
        self._write(scope, ids, answer, milliseconds)

    def _write(self, scope: Scope, ids: Mapping[str, str], answer: _Watch, milliseconds: float) -> None:
        counts: dict[str, int] = scope[COUNTS]
        status = answer.status or 500
        cold = self._first()
        metrics = {
            "Duration": round(milliseconds, 3),
            **{_COUNTED[name]: value for name, value in counts.items() if name in _COUNTED},
            "ClientErrors": int(400 <= status < 500),
            "ServerErrors": int(status >= 500),
            "ColdStarts": int(cold),
        }
        constant, directives = _frame(self._service, tuple(metrics))
        line = {
            "_aws": {"Timestamp": int(time.time() * 1e3), "CloudWatchMetrics": directives},
            **constant,
            **{name: [value] for name, value in metrics.items()},
            "level": "ERROR" if status >= 500 else "INFO",
            "message": "request",
            **ids,
            "method": scope["method"],
            "path": scope["path"][:LONGEST],
            "status": status,
            "duration_ms": metrics["Duration"],
            "response_bytes": answer.size,
            "cold_start": cold,
            **counts,
        }
        # one write, so that lines of concurrent requests do not mix
        sys.stdout.write(compact(line).decode() + "\n")
        sys.stdout.flush()  # our own runtime's output is a pipe, and an environment is frozen or killed without notice

    def _first(self) -> bool:
        with self._lock:
            cold, self._cold = self._cold, False
        return cold


@lru_cache(maxsize=64)
def _frame(service: str, metrics: tuple[str, ...]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """What all records of these metrics share, as Powertools forms it: dimensions, and the directives of `_aws`."""
    form = EphemeralMetrics(namespace=NAMESPACE, service=service)
    if name := os.environ.get("AWS_LAMBDA_FUNCTION_NAME"):
        form.add_dimension("function_name", name)  # two stacks have functions of one service
    for name in metrics:
        form.add_metric(name, _UNITS.get(name, MetricUnit.Count), 0)
    record: dict[str, Any] = {**form.serialize_metric_set()}
    directives = record.pop("_aws")["CloudWatchMetrics"]
    return {name: value for name, value in record.items() if name not in metrics}, directives


class _Watch:
    """Passes messages on and keeps the status and the size of the answer."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status: int | None = None
        self.size = 0

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
        self.size += len(message.get("body", b""))
        await self._send(message)


def request_ids(scope: Scope) -> dict[str, str]:
    """The ids under which a request is known: to its caller, to the gateway before the function, to Lambda."""
    context = scope["aws.event"].get("requestContext", {})
    found = {
        "request_id": header(scope, b"x-request-id") or context.get("requestId"),
        "gateway_request_id": context.get("requestId"),
        "function_request_id": getattr(scope["aws.context"], "aws_request_id", None),
        "trace_id": header(scope, b"traceparent") or header(scope, b"x-amzn-trace-id"),
    }
    return {name: value[:LONGEST] for name, value in found.items() if value}
