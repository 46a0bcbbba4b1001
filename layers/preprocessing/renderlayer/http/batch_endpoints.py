"""What lines of a batch may ask for: the front door where there is an engine, and every route without one."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from functools import cache
from typing import Any, TypeVar

from renderlayer.batch.setup import worker
from renderlayer.batch.steps.lines import LineError
from renderlayer.batch.steps.running import LineEndpoint
from renderlayer.batch.steps.work import Worker
from renderlayer.http.complete import PATHS
from renderlayer.http.routes import ROUTES, Route
from renderlayer.pipeline.engines import open_engines
from renderlayer.pipeline.pending import Begin, Service, generated
from renderlayer.served_model import ServedModel
from renderlayer.settings import Settings

T = TypeVar("T")


def endpoints(server: ServedModel, engine: Service | None) -> dict[str, LineEndpoint]:
    """URLs of lines, and what they do."""
    routes = {route.path: LineEndpoint(_routed(route, server), waits=False) for route in ROUTES}
    if engine is None:
        return routes
    doors = {path: LineEndpoint(_completed(door.begin, server, engine), waits=True) for path, door in PATHS.items()}
    return routes | doors


@cache
def configured_worker() -> Worker:
    """The worker that the environment describes; opens the model.

    Raises:
        ConfigurationError: the settings or the model cannot work.
    """
    settings = Settings.from_environment()
    engine = open_engines(settings, refuse_aborted=True) if settings.engine_url else None
    return worker(settings, endpoints(ServedModel.open(settings), engine))


def _routed(route: Route, server: ServedModel) -> Callable[[Any, str], Any]:
    return lambda body, request_id: route.work(body, server, request_id)


def _completed(begin: Begin, server: ServedModel, engine: Service) -> Callable[[Any, str], Any]:
    def answer(body: Any, request_id: str) -> Any:
        if body.get("stream"):
            raise LineError("invalid_body", "stream is not supported in a batch.")
        pending = begin(body, server, request_id)
        return pending.whole(_loop().submit(generated(pending, engine)))

    return answer


class _Loop:
    """An event loop in a thread of its own, in which the lines of a batch wait for the engine together."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="engine", daemon=True).start()

    def submit(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait in the calling thread for what is done in the loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


@cache
def _loop() -> _Loop:
    return _Loop()
