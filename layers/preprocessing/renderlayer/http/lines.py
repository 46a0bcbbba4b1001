"""What lines of a batch may ask for: the front door where there is an engine, and every route without one."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from renderlayer.batch.lines import LineError
from renderlayer.batch.running import Endpoint
from renderlayer.batch.setup import worker
from renderlayer.batch.work import Worker
from renderlayer.http.complete import PATHS, Complete
from renderlayer.http.routes import ROUTES, Route
from renderlayer.pipeline.engine import Engine
from renderlayer.render.server import Server
from renderlayer.secrets.secret import engine_key
from renderlayer.settings import Settings


def endpoints(server: Server, engine: Engine | None) -> dict[str, Endpoint]:
    """URLs of lines, and what they do."""
    routes = {route.path: Endpoint(_routed(route, server), waits=False) for route in ROUTES}
    if engine is None:
        return routes
    doors = {path: Endpoint(_completed(door.complete, server, engine), waits=True) for path, door in PATHS.items()}
    return routes | doors


@cache
def configured_worker() -> Worker:
    """The worker that the environment describes; opens the model.

    Raises:
        ConfigurationError: the settings or the model cannot work.
    """
    settings = Settings.from_environment()
    engine = Engine(settings.engine_url, engine_key(settings), refuse_aborted=True) if settings.engine_url else None
    return worker(settings, endpoints(Server.open(settings), engine))


def _routed(route: Route, server: Server) -> Callable[[Any, str], Any]:
    return lambda body, request_id: route.work(body, server, request_id)


def _completed(complete: Complete, server: Server, engine: Engine) -> Callable[[Any, str], Any]:
    def answer(body: Any, request_id: str) -> Any:
        if body.get("stream"):
            raise LineError("invalid_body", "stream is not supported in a batch.")
        return complete(body, server, engine, request_id)

    return answer
