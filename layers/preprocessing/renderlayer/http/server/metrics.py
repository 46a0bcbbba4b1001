"""`GET /metrics` of servers, in Prometheus's form: requests, tokens, stages, caches, and the engine's calls.

Where a server has several processes (`http/server/workers.py`), each tells the sums of all; then there are no
`process_` metrics, which would be those of whichever answers.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Literal, get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.process_collector import ProcessCollector
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from renderlayer.http.execution.work import Watch
from renderlayer.http.middleware.auth import Keys, RequireKey
from renderlayer.http.request import FRONT_DOOR
from renderlayer.http.routes import ROUTES
from renderlayer.multimodal import uuid_cache
from renderlayer.pipeline import engine_states
from renderlayer.request_context import stage_observers
from renderlayer.settings import METRICS_FOLDER

PATH = "/metrics"
STATUS = frozenset({"/health", "/readyz", "/ping", "/version", "/load", "/v1/models"})
KNOWN = STATUS | FRONT_DOOR | {route.path for route in ROUTES}
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"})
OTHER = "other"
"""Stands for paths that are none of ours and methods that are not HTTP's, so that callers cannot make labels."""
NAMESPACE = "renderlayer_"
KINDS = ("prompt", "cached", "completion")
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
        # Prometheus makes nothing of when each series began
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = CollectorRegistry()
        self._told = self.registry
        if METRICS_FOLDER in os.environ:
            self._told = CollectorRegistry()
            MultiProcessCollector(self._told)  # type: ignore[no-untyped-call]
        else:
            ProcessCollector(registry=self.registry)
        self._requests = self._counter("requests", "Requests answered.", "method", "path", "status")
        self._seconds = self._histogram("request_seconds", "From request to last byte.", "path")
        about = "Render, generate and derender; encode, prefill and decode within generate."
        self._stages = self._histogram("stage_seconds", about, "stage")
        self._tokens = self._counter(
            "tokens", "Tokens of prompts (cached: found in the engine's cache) and answers.", "kind"
        )
        self._running = self._gauge("requests_running", "Requests under way.")
        self._engine = self._counter("engine_calls", "Engine calls, by how they ended.", "outcome")
        self._calls = self._gauge("engine_calls_running", "Engine calls under way.")
        about = "Whether one of several engines is sent requests (1) or left out (0)."
        self._up = self._gauge("engine_up", about, "engine", processes="livemin")
        about = "Prompt tokens of the requests under way, of one of several engines."
        self._outstanding = self._gauge("engine_outstanding_tokens", about, "engine")
        self._lookups = self._counter("media_cache_lookups", "Media that were named by uuid alone.", "outcome")
        self._cached = self._gauge("media_cache_bytes", "Bytes of media that are kept, for uuids to name.")
        self._gauge("workers", "Processes that answer.").set(1)
        for counter, labels in (
            (self._tokens, KINDS),
            (self._engine, get_args(engine_states.Outcome)),
            (self._lookups, get_args(uuid_cache.Outcome)),
        ):
            for label in labels:  # a series that begins with its first increment hides that one from rate()
                counter.labels(label)
        self._answer: ASGIApp = self._tell if keys is None else RequireKey(self._tell, keys)
        stage_observers.append(lambda stage, seconds: self._stages.labels(stage).observe(seconds))
        engine_states.observers.append(self._engine_call)
        engine_states.watchers.append(self._engine_is)
        uuid_cache.observers.append(self._looked_up)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif scope["path"] == PATH and scope["method"] in ("GET", "HEAD"):
            await self._answer(scope, receive, send)
        else:
            await self._measured(scope, receive, send)

    async def _measured(self, scope: Scope, receive: Receive, send: Send) -> None:
        watch = Watch(scope, send)
        try:
            with self._running.track_inprogress():
                await self._app(scope, receive, watch.send)
        finally:
            path = scope["path"] if scope["path"] in KNOWN else OTHER
            method = scope["method"] if path != OTHER and scope["method"] in METHODS else OTHER
            self._requests.labels(method, path, watch.status).inc()
            self._seconds.labels(path).observe(watch.seconds)
            for kind in KINDS:
                count = watch.counts.get(f"{kind}_tokens", 0)
                # derender's prompt_tokens is the caller's word: counters take no negative, nor what no float holds
                believed = count if 0 <= count <= MOST_TOKENS else 0
                self._tokens.labels(kind).inc(believed)

    async def _tell(self, scope: Scope, receive: Receive, send: Send) -> None:
        content = generate_latest(self._told)
        await Response(content, headers={"content-type": CONTENT_TYPE_PLAIN_0_0_4})(scope, receive, send)

    def _engine_call(self, state: engine_states.Outcome | None) -> None:
        if state is None:
            self._calls.inc()
        else:
            self._calls.dec()
            self._engine.labels(state).inc()

    def _engine_is(self, name: str, is_up: bool | None, outstanding: int) -> None:
        if is_up is None:
            for gauge in (self._up, self._outstanding):
                with suppress(KeyError):
                    gauge.remove(name)
            return
        self._up.labels(name).set(is_up)
        self._outstanding.labels(name).set(outstanding)

    def _looked_up(self, outcome: uuid_cache.Outcome | None, held: int) -> None:
        if outcome is not None:
            self._lookups.labels(outcome).inc()
        self._cached.set(held)

    def _counter(self, name: str, about: str, *labels: str) -> Counter:
        return Counter(NAMESPACE + name, about, labels, registry=self.registry)

    def _gauge(
        self, name: str, about: str, *labels: str, processes: Literal["livesum", "livemin"] = "livesum"
    ) -> Gauge:
        return Gauge(NAMESPACE + name, about, labels, registry=self.registry, multiprocess_mode=processes)

    def _histogram(self, name: str, about: str, label: str) -> Histogram:
        return Histogram(NAMESPACE + name, about, (label,), buckets=BUCKETS, registry=self.registry)
