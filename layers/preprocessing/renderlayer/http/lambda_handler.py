"""The application as a Lambda handler: HTTP API (payload 2.0), REST API, function URL or load balancer before it."""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
from typing import Any

from mangum import Mangum
from starlette.types import ASGIApp, Scope

from renderlayer.http.bodies import Bodies
from renderlayer.http.contain import Contain
from renderlayer.http.journal import Journal
from renderlayer.http.prefix import UnderPrefix
from renderlayer.settings import Settings

ENVELOPE = 64 << 10
"""Bytes left for status, headers and field names around the body that a function returns."""
LOAD_BALANCER_LIMIT = (1 << 20) - ENVELOPE
"""Bytes of body that an Application Load Balancer takes from a function (1 MB in all)."""


class _Loop:
    """An event loop that is closed when the thread that holds it ends."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()

    def __del__(self) -> None:
        self.loop.close()


class _Loops(threading.local):
    """The event loop of each thread; Mangum runs the one that it finds as the current one."""

    def __init__(self) -> None:
        self._held = _Loop()

    def enter(self) -> None:
        asyncio.set_event_loop(self._held.loop)


_loops = _Loops()


class LambdaHandler:
    """A handler `(event, context) -> result` over an ASGI application.

    Safe to call from several threads at a time: each has an event loop of its own, which lives as long as the thread.
    """

    def __init__(self, app: ASGIApp, settings: Settings, service: str) -> None:
        logging.getLogger("mangum").setLevel(logging.CRITICAL)  # the journal reports, without quoting the request
        self._largest = settings.max_response_bytes
        _loops.enter()
        bodies = Bodies(app, settings.max_body_bytes, self._response_limit)
        app = UnderPrefix(Journal(Contain(bodies), service), settings.root_path)
        self._mangum = Mangum(app, lifespan="off")

    def __call__(self, event: dict[str, Any], context: Any) -> dict[str, Any]:
        _loops.enter()
        return self._mangum(event, context)

    def _response_limit(self, scope: Scope) -> int | None:
        if "elb" in scope["aws.event"]["requestContext"]:
            return LOAD_BALANCER_LIMIT
        return self._largest - ENVELOPE if self._largest else None


def function(part: str) -> LambdaHandler:
    """The handler of one function, configured by the environment; opens the model.

    Args:
        part: "render" or "derender".

    Raises:
        ConfigurationError: the settings or the model cannot work.
    """
    gc.disable()  # next to nothing that is made from here on is garbage, and looking for some takes a sixth of the time
    try:
        from renderlayer.http.app import create_app

        settings = Settings.from_environment()
        return LambdaHandler(create_app(settings, (part,)), settings, part)
    finally:
        gc.freeze()
        gc.enable()
