"""Whether the engine can be reached from where a function runs, and what stands in the way."""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from renderlayer.pipeline.connections import OUT_OF_REACH, TOO_LATE, Connections
from renderlayer.secrets.secret import engine_key
from renderlayer.settings import Settings

SECONDS = 5.0


def check_engine() -> dict[str, Any]:
    """Call the configured engines, up to the first that cannot be reached.

    Returns:
        {"ok": bool, "step": how far it came, "detail": str, "seconds": float}
    """
    began = time.perf_counter()
    ok, step, detail = _checked(Settings.from_environment())
    return {"ok": ok, "step": step, "detail": detail, "seconds": round(time.perf_counter() - began, 3)}


def _checked(settings: Settings) -> tuple[bool, str, str]:
    if not settings.engine_url:
        return False, "configuration", "EngineUrl is empty."
    several = len(settings.engine_urls) > 1
    for at in settings.engine_urls:
        ok, step, detail = _reached(at, settings)
        if not ok:
            break
    return ok, step, f"{urlsplit(at).hostname}: {detail}" if several and not ok else detail


def _reached(engine_url: str, settings: Settings) -> tuple[bool, str, str]:
    url = urlsplit(engine_url)
    host, port = url.hostname or "", url.port or (443 if url.scheme == "https" else 80)
    try:
        socket.getaddrinfo(host, port)
    except OSError:
        return False, "name", f"{host} has no address here: is the function in the engine's network (SubnetIds)?"
    try:
        socket.create_connection((host, port), SECONDS).close()
    except OSError as error:
        why = "security groups, routes, and whether the engine runs"
        return False, "connection", f"{host}:{port}: {type(error).__name__}; look at {why}."
    try:
        key = engine_key(settings)
        token = key if isinstance(key, str) else key.texts()[0]
        health, models = asyncio.run(_statuses(engine_url, token))
    except (TOO_LATE, *OUT_OF_REACH, TimeoutError, ssl.SSLError) as error:
        return False, "http", f"{type(error).__name__}; with https, EngineUrl must have the name of the certificate."
    if health != HTTPStatus.OK:
        return False, "health", f"/health answers {health}."
    if models == HTTPStatus.UNAUTHORIZED:
        return False, "key", "The engine does not take the key (EngineApiKeySecret, EngineApiKey)."
    return True, "done", "The engine answers."


async def _statuses(url: str, key: str) -> tuple[int, int]:
    """Of /health, and of /v1/models with the key."""
    connections = Connections(url)
    try:
        async with asyncio.timeout(SECONDS):
            health = await connections.send("GET", "/health")
            await health.read()
            models = await connections.send("GET", "/v1/models", key=key)
            await models.read()
    finally:
        await connections.aclose()
    return health.status, models.status
