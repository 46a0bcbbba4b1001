"""The application: the wire's endpoints over one opened model; everything else is below (wire.md 1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING

from renderlayer.http.application import Application, Endpoint
from renderlayer.http.routes import ROUTES, route_endpoint
from renderlayer.served_model import ServedModel
from renderlayer.settings import Settings

if TYPE_CHECKING:
    from fastapi import FastAPI

    from renderlayer.pipeline.pending import Service

PARTS = ("render", "derender", "complete")


def create_app(
    settings: Settings | None = None, parts: Sequence[str] = PARTS, server: ServedModel | None = None
) -> Application:
    """Build the application.

    Args:
        settings: default: from the environment.
        parts: which functions' routes it serves; "complete" needs an engine_url.
        server: an opened model to share; default: the one that the settings name.

    Raises:
        ConfigurationError: the model cannot be opened.
    """
    settings = settings or Settings.from_environment()
    server = server or ServedModel.open(settings, encodes=tuple(parts) != ("derender",))
    endpoints = {route.path: route_endpoint(route, server) for route in ROUTES if route.part in parts}
    engine = cache(partial(_open_engine, settings))
    front_door: dict[str, Endpoint] = {}
    if "complete" in parts and settings.engine_url:
        from renderlayer.http.complete import complete_endpoints

        front_door = complete_endpoints(server, engine())
    app = Application(settings, endpoints, front_door)
    app.extend(partial(_add_status_routes, server=server, engine=engine))
    return app


def _add_status_routes(api: FastAPI, server: ServedModel, engine: Callable[[], Service]) -> None:
    from renderlayer.http.status import add_status_routes

    add_status_routes(api, server, engine)


def _open_engine(settings: Settings) -> Service:
    from renderlayer.pipeline.engines import open_engines

    return open_engines(settings)
