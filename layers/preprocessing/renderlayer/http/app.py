"""The application: the wire's endpoints over one opened model; everything else is below (wire.md 1)."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response

from renderlayer import __version__
from renderlayer.errors import NotFound
from renderlayer.http.application import Application, Endpoint
from renderlayer.http.body import (
    EVENT_STREAM,
    decoded,
    header,
    json_response,
    media_type,
    read_body,
    require_json,
)
from renderlayer.http.counts import count_tokens
from renderlayer.http.routes import ROUTES, Route
from renderlayer.http.splice import spliced
from renderlayer.http.stages import timed
from renderlayer.http.threads import aside
from renderlayer.render.server import Server
from renderlayer.settings import Settings
from renderlayer.wire._json import dumped, dumped_fast
from renderlayer.wire._remarks import HEADER, header_value, remarks

if TYPE_CHECKING:
    from renderlayer.pipeline import Engine

REFERENCE_VERSION = "0.33.0"
PARTS = ("render", "derender", "complete")


def create_app(
    settings: Settings | None = None, parts: Sequence[str] = PARTS, server: Server | None = None
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
    server = server or Server.open(settings)
    endpoints = {route.path: _endpoint(route, server) for route in ROUTES if route.part in parts}
    engine = cache(partial(_open_engine, settings))
    front_door: dict[str, Endpoint] = {}
    if "complete" in parts and settings.engine_url:
        from renderlayer.http.complete import complete_endpoints

        front_door = complete_endpoints(server, engine())
    app = Application(settings, endpoints, front_door)
    app.state.server = server
    _add_status_routes(app, server, engine)
    return app


def _open_engine(settings: Settings) -> Engine:
    from renderlayer.pipeline import Engine
    from renderlayer.secrets.secret import engine_key

    return Engine(settings.engine_url, engine_key(settings))


def _endpoint(route: Route, server: Server) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        if route.stream is not None and media_type(request.scope) == EVENT_STREAM:
            from renderlayer.http.streams import derendered_stream

            return await derendered_stream(request, route.stream, server, route.named_events)
        require_json(request.scope)
        body = await read_body(request.scope, request.receive, server.settings.max_body_bytes)
        header_id = header(request.scope, b"x-request-id")

        def content() -> bytes:
            with timed(route.part):
                answer = route.work(decoded(body), server, header_id)
            count_tokens(request.scope, answer)
            above = server.settings.reference_request_above
            if not route.fast_json:
                return dumped(answer)
            if not above:
                return spliced(answer)
            whole = dumped_fast(answer)
            if len(whole) <= above:
                return whole
            from renderlayer.references.writing import claims

            return dumped_fast(claims(answer, server.settings, server.model))

        def work() -> Response:
            with remarks() as found:
                response = json_response(content())
            if found:
                response.headers[HEADER] = header_value(found)
            return response

        return await aside(request.scope, work)

    return endpoint


def _add_status_routes(app: FastAPI, server: Server, engine: Callable[[], Engine]) -> None:
    async def health() -> Response:
        return Response(status_code=200)

    async def ready() -> Response:
        """Answers 503 while calls do not get through to the engine, where there is one."""
        if server.settings.engine_url:
            await engine().check()
        return Response(status_code=200)

    async def load() -> dict[str, int]:
        return {"server_load": 0}

    async def version() -> dict[str, str]:
        return {"version": f"{REFERENCE_VERSION}+renderlayer.{__version__}"}

    async def models() -> dict[str, Any]:
        return {"object": "list", "data": [model_card(name, server) for name in server.names]}

    async def model(name: str) -> dict[str, Any]:
        if name not in server.names:
            raise NotFound(f"The model `{name}` does not exist.", "model")
        return model_card(name, server)

    app.add_api_route("/health", health, methods=["GET"])
    app.add_api_route("/readyz", ready, methods=["GET"])
    app.add_api_route("/ping", health, methods=["GET"])
    app.add_api_route("/ping", health, methods=["POST"])
    app.add_api_route("/load", load, methods=["GET"])
    app.add_api_route("/version", version, methods=["GET"])
    app.add_api_route("/v1/models", models, methods=["GET"])
    app.add_api_route("/v1/models/{name:path}", model, methods=["GET"])


def model_card(name: str, server: Server) -> dict[str, Any]:
    """The entry of /v1/models for one served name (wire.md 1.8)."""
    now = int(time.time())
    permission = {
        "id": f"modelperm-{os.urandom(8).hex()}",
        "object": "model_permission",
        "created": now,
        "allow_create_engine": False,
        "allow_sampling": True,
        "allow_logprobs": True,
        "allow_search_indices": False,
        "allow_view": True,
        "allow_fine_tuning": False,
        "organization": "*",
        "group": None,
        "is_blocking": False,
    }
    return {
        "id": name,
        "object": "model",
        "created": now,
        "owned_by": "vllm",
        "root": server.settings.model,
        "parent": None,
        "max_model_len": server.max_model_len,
        "permission": [permission],
    }
