"""The FastAPI application: routes, auth, request ids and the error envelope; everything else is below (wire.md 1)."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Sequence
from typing import Any

from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from renderlayer import __version__
from renderlayer.errors import RenderLayerError
from renderlayer.http.auth import EchoRequestId, RequireKey
from renderlayer.http.body import (
    EVENT_STREAM,
    decoded,
    dumped,
    dumped_fast,
    error_response,
    json_response,
    media_type,
    read_body,
    require_json,
)
from renderlayer.http.counts import count_tokens
from renderlayer.http.direct import FORESEEN, Direct, Endpoint, answer_to
from renderlayer.http.routes import ROUTES, Route
from renderlayer.render.server import Server
from renderlayer.settings import Settings

REFERENCE_VERSION = "0.33.0"
PARTS = ("render", "derender", "complete")
logger = logging.getLogger("renderlayer")


def create_app(settings: Settings | None = None, parts: Sequence[str] = PARTS, server: Server | None = None) -> FastAPI:
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
    app = FastAPI(title="renderlayer", version=__version__)
    app.state.server = server
    endpoints = {route.path: _endpoint(route, server) for route in ROUTES if route.part in parts}
    for path, endpoint in endpoints.items():
        app.add_api_route(path, endpoint, methods=["POST"])
    app.add_middleware(Direct, endpoints=endpoints)
    if "complete" in parts and settings.engine_url:
        from renderlayer.http.complete import add_complete_routes
        from renderlayer.pipeline import Engine

        add_complete_routes(app, server, Engine(settings.engine_url, settings.engine_api_key))
    _add_status_routes(app, server)
    guard(app, settings)
    return app


def guard(app: FastAPI, settings: Settings) -> None:
    """What every application has: answers to errors, keys, request ids."""
    for foreseen in FORESEEN:
        app.add_exception_handler(foreseen, _on_error)
    app.add_exception_handler(Exception, _on_crash)
    if settings.api_key:
        app.add_middleware(RequireKey, keys=settings.api_key)
    if settings.enable_request_id_headers:
        app.add_middleware(EchoRequestId)


def _endpoint(route: Route, server: Server) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        if route.stream is not None and media_type(request) == EVENT_STREAM:
            from renderlayer.http.streams import derendered_stream

            return await derendered_stream(request, route.stream, server, route.named_events)
        require_json(request)
        body = await read_body(request.scope, request.receive, server.settings.max_body_bytes)
        header_id = request.headers.get("x-request-id")

        def work() -> bytes:
            answer = route.work(decoded(body), server, header_id)
            count_tokens(request.scope, answer)
            content = dumped_fast(answer) if route.fast_json else dumped(answer)
            if route.path.endswith("/render") and 0 < server.settings.reference_request_above < len(content):
                from renderlayer.references.writing import claims

                content = dumped_fast(claims(answer, server.settings, server.model))
            return content

        # a function's handler serves one request at a time in its thread, where a second thread only costs time
        in_function = "aws.event" in request.scope
        return json_response(work() if in_function else await run_in_threadpool(work))

    return endpoint


def _add_status_routes(app: FastAPI, server: Server) -> None:
    async def health() -> Response:
        return Response(status_code=200)

    async def load() -> dict[str, int]:
        return {"server_load": 0}

    async def version() -> dict[str, str]:
        return {"version": f"{REFERENCE_VERSION}+renderlayer.{__version__}"}

    async def models() -> dict[str, Any]:
        return {"object": "list", "data": [model_card(name, server) for name in server.names]}

    app.add_api_route("/health", health, methods=["GET"])
    app.add_api_route("/ping", health, methods=["GET", "POST"])
    app.add_api_route("/load", load, methods=["GET"])
    app.add_api_route("/version", version, methods=["GET"])
    app.add_api_route("/v1/models", models, methods=["GET"])


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


async def _on_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, FORESEEN)
    return answer_to(error)


async def _on_crash(request: Request, error: Exception) -> Response:
    """What nobody foresaw: the type is logged, the message is not, since it may quote a prompt."""
    logger.error("unexpected %s on %s", type(error).__name__, request.url.path)
    return error_response(RenderLayerError("The server had an error while processing your request."))
