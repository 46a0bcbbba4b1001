"""What every function and server is made of: JSON requests reach their endpoint, FastAPI has the rest."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Awaitable, Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from renderlayer.errors import RenderLayerError
from renderlayer.http.execution.disconnect import Disconnected, NoAnswer
from renderlayer.http.middleware.auth import EchoRequestId, Keys, RequireKey
from renderlayer.http.request import route_path, trace_of
from renderlayer.http.response import FORESEEN, Response, answer_to, error_response
from renderlayer.request_context import traced, until_answered
from renderlayer.settings import Settings

if TYPE_CHECKING:
    from renderlayer.http.api import Api, Extend

Endpoint = Callable[[Scope, Receive], Awaitable[Response]]
FRAMES = 12
"""Innermost frames of an error that are logged."""

logger = logging.getLogger(__name__)


class Application:
    """An ASGI application: keys, request ids, answers to errors, endpoints, and what FastAPI routes.

    The endpoints are called past FastAPI, since the way through it takes longer than a small derender, and its import
    longer than everything else of a function's start.

    Args:
        settings: whose keys are asked for, and whether request ids are echoed.
        endpoints: what answers a POST, by path.
        waiting: those that wait for an engine, and so need an event loop everywhere.
    """

    def __init__(
        self,
        settings: Settings,
        endpoints: Mapping[str, Endpoint] | None = None,
        waiting: Mapping[str, Endpoint] | None = None,
    ) -> None:
        self._waiting = waiting or {}
        self._endpoints = {**(endpoints or {}), **self._waiting}
        self._extensions: list[Extend] = []
        self._settings = settings
        self.keys = Keys.of(settings)
        self._behind = self._behind_keys(self._answer)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._behind(scope, receive, send)

    def extend(self, extend: Extend) -> None:
        """Have FastAPI's application extended once it is needed; too late for one that was needed already."""
        self._extensions.append(extend)

    @cached_property
    def api(self) -> Api:
        """What answers a request that is for no endpoint."""
        from renderlayer.http.api import build_api

        return build_api(self._settings, self._endpoints, self._extensions)

    def prepare(self) -> Application:
        """Make now what the first request that is for no endpoint would have to wait for; this application."""
        _ = self.api
        return self

    def read_with(self, bodies: Callable[[ASGIApp], ASGIApp]) -> None:
        """Put a middleware that reads bodies in front of everything but the keys: who has none sends in vain."""
        self._behind = self._behind_keys(bodies(self._answer))

    def _behind_keys(self, app: ASGIApp) -> ASGIApp:
        if self.keys is not None:
            app = RequireKey(app, self.keys)
        return EchoRequestId(app) if self._settings.enable_request_id_headers else app

    def endpoint(self, scope: Scope) -> Endpoint | None:
        """The endpoint that a request is for; None leaves it to FastAPI's routes."""
        if scope["type"] != "http" or scope["method"] != "POST":
            return None
        return self._endpoints.get(route_path(scope))

    def needs_loop(self, scope: Scope) -> bool:
        """Whether a request cannot be answered on the spot: it waits for an engine, or FastAPI routes it."""
        return self.endpoint(scope) is None or route_path(scope) in self._waiting

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        endpoint = self.endpoint(scope)
        if endpoint is None:
            await self.api(scope, receive, send)
            return
        with until_answered(), traced(trace_of(scope)):
            try:
                response = await endpoint(scope, receive)
            except FORESEEN as error:
                response = answer_to(error, scope["path"])
            except Disconnected:
                response = NoAnswer()
            await response(scope, receive, send)


class ServerErrorMiddleware:
    """ASGI middleware, the last resort: what nobody caught becomes a 500, and a log line that cannot quote a prompt.

    No exception gets out, since servers print an exception together with its message.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except Exception as error:
            logger.error("request failed: %s", described(error))
            if not started:
                answer = RenderLayerError("The server had an error while processing your request.")
                await error_response(answer)(scope, receive, send)


def described(error: Exception) -> str:
    """Class and place of an error, without its message."""
    frames = traceback.extract_tb(error.__traceback__)[-FRAMES:]
    return type(error).__name__ + " at " + ", ".join(f"{frame.filename}:{frame.lineno}" for frame in frames)
