"""`GET /metrics` of servers, in Prometheus's form: requests, tokens, stages, and how engine calls end."""

from __future__ import annotations

import time

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.process_collector import ProcessCollector
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from renderlayer.http import stages
from renderlayer.http.auth import Keys, RequireKey
from renderlayer.http.counts import COUNTS
from renderlayer.http.disconnect import CLIENT_CLOSED_REQUEST, LEFT
from renderlayer.http.paths import FRONT_DOOR
from renderlayer.http.routes import ROUTES
from renderlayer.pipeline import engine_states

PATH = "/metrics"
STATUS = frozenset({"/health", "/readyz", "/ping", "/version", "/load", "/v1/models"})
KNOWN = STATUS | FRONT_DOOR | {route.path for route in ROUTES}
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"})
OTHER = "other"
"""Stands for paths that are none of ours and methods that are not HTTP's, so that callers cannot make labels."""
MOST_TOKENS = 2**31 - 1
"""Largest count of one request that is believed."""
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)


class Metrics:
    """ASGI middleware that measures requests and answers `GET /metrics`.

    Args:
        app: the application.
        keys: those that callers of `/metrics` must present, as everywhere else; None: open.
    """

    def __init__(self, app: ASGIApp, keys: Keys | None = None) -> None:
        self._app = app
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        label = ("method", "path", "status")
        self._requests = Counter("renderlayer_requests", "Requests answered.", label, registry=self.registry)
        self._seconds = self._histogram("renderlayer_request_seconds", "From request to last byte.", "path")
        self._stages = self._histogram("renderlayer_stage_seconds", "Render, generate and derender.", "stage")
        self._tokens = Counter(
            "renderlayer_tokens", "Tokens of prompts and answers.", ("kind",), registry=self.registry
        )
        self._running = Gauge("renderlayer_requests_running", "Requests under way.", registry=self.registry)
        self._engine = Counter(
            "renderlayer_engine_calls", "Engine calls, by how they ended.", ("outcome",), registry=self.registry
        )
        self._answer: ASGIApp = self._tell if keys is None else RequireKey(self._tell, keys)
        stages.observers.append(lambda stage, seconds: self._stages.labels(stage).observe(seconds))
        engine_states.observers.append(lambda outcome: self._engine.labels(outcome).inc())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif scope["path"] == PATH and scope["method"] in ("GET", "HEAD"):
            await self._answer(scope, receive, send)
        else:
            await self._measured(scope, receive, send)

    async def _measured(self, scope: Scope, receive: Receive, send: Send) -> None:
        began, status = time.perf_counter(), 500
        counts: dict[str, int] = scope.setdefault(COUNTS, {})

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            with self._running.track_inprogress():
                await self._app(scope, receive, watched)
        finally:
            path = scope["path"] if scope["path"] in KNOWN else OTHER
            shown = CLIENT_CLOSED_REQUEST if LEFT in counts else status
            method = scope["method"] if path != OTHER and scope["method"] in METHODS else OTHER
            self._requests.labels(method, path, shown).inc()
            self._seconds.labels(path).observe(time.perf_counter() - began)
            for kind in ("prompt_tokens", "completion_tokens"):
                count = counts.get(kind, 0)
                # derender's prompt_tokens is the caller's word: counters take no negative, nor what no float holds
                believed = count if 0 <= count <= MOST_TOKENS else 0
                self._tokens.labels(kind.removesuffix("_tokens")).inc(believed)

    async def _tell(self, scope: Scope, receive: Receive, send: Send) -> None:
        content = generate_latest(self.registry)
        await Response(content, headers={"content-type": CONTENT_TYPE_PLAIN_0_0_4})(scope, receive, send)

    def _histogram(self, name: str, about: str, label: str) -> Histogram:
        return Histogram(name, about, (label,), buckets=BUCKETS, registry=self.registry)
