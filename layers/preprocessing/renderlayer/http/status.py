"""The status of a server: its health, its version, and the names of its model (wire.md 1.8)."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from fastapi import FastAPI
from starlette.responses import JSONResponse, Response

from renderlayer import __version__
from renderlayer.errors import NotFound, RenderLayerError
from renderlayer.pipeline.pending import Service, Several
from renderlayer.served_model import ServedModel

REFERENCE_VERSION = "0.33.0"


def add_status_routes(app: FastAPI, server: ServedModel, engine: Callable[[], Service]) -> None:
    """Add health, readiness, version and models.

    Args:
        engine: gives the engine, where the settings name one.
    """

    async def health() -> Response:
        return Response(status_code=200)

    async def ready(engines: str = "") -> Response:
        """Answers 503 while calls do not get through to the engine, where there is one, or to any of several.

        With `?engines=true` it tells how each of several is.
        """
        if not server.settings.engine_url:
            return Response(status_code=200)
        service, status, tells = engine(), 200, engines.lower() in ("1", "true")
        try:
            await service.check()
        except RenderLayerError as error:
            if not tells:
                raise
            status = error.status
        if not tells:
            return Response(status_code=status)
        return JSONResponse({"engines": service.described() if isinstance(service, Several) else []}, status)

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


def model_card(name: str, server: ServedModel) -> dict[str, Any]:
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
