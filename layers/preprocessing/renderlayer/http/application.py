"""FastAPI with a short way in front of it: JSON requests reach their endpoint past middleware and router."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from renderlayer import __version__
from renderlayer.errors import MethodNotAllowed, NotFound, NotImplementedHere, RenderLayerError
from renderlayer.http.auth import EchoRequestId, Keys, RequireKey
from renderlayer.http.body import error_response
from renderlayer.http.docs import DOCS, offline_docs
from renderlayer.memory import until_answered
from renderlayer.settings import PREFIX, Settings
from renderlayer.wire._json import unencodable

Endpoint = Callable[[Request], Awaitable[Response]]
TITLE = "renderlayer"
ANTHROPIC = ("/v1/messages", "/v1/messages/count_tokens")
"""Paths whose errors have Anthropic's form; those of render have OpenAI's, as the reference's have."""
FRONT_DOOR = frozenset({"/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/messages"})
"""Paths that an engine answers."""
UNROUTED = (404, 405)
FORESEEN = (RenderLayerError, UnicodeEncodeError, ModuleNotFoundError)
"""What endpoints raise about a request, or about what is not installed; everything else is a fault of ours."""

logger = logging.getLogger("renderlayer")


class Application(FastAPI):
    """What every function and server is made of: keys, request ids, answers to errors, and endpoints.

    The endpoints are routes of FastAPI as well: for its description of the API, and for its 405s. They are called
    before it comes to that, because the way through FastAPI takes longer than a small derender.

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
        docs = offline_docs(TITLE)
        super().__init__(title=TITLE, version=__version__, routes=docs, docs_url=None if docs else DOCS, redoc_url=None)
        self._waiting = waiting or {}
        self._endpoints = {**(endpoints or {}), **self._waiting}
        for path, endpoint in self._endpoints.items():
            self.add_api_route(path, endpoint, methods=["POST"])
        self.router.redirect_slashes = False  # a path with a slash at its end is the same path, at the same scheme
        for status in UNROUTED:
            self.add_exception_handler(status, self._on_unrouted)
        for foreseen in FORESEEN:
            self.add_exception_handler(foreseen, _on_error)
        self.add_exception_handler(Exception, _on_crash)
        self._settings = settings
        self.keys = Keys.of(settings)
        self._way = self._behind_keys(self._answer)

    def openapi(self) -> dict[str, Any]:
        """What `/openapi.json` answers: the description of the whole deployment, whichever function is asked for it."""
        from renderlayer.http.openapi import description

        return description()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._way(scope, receive, send)

    def read_with(self, bodies: Callable[[ASGIApp], ASGIApp]) -> None:
        """Put a middleware that reads bodies in front of everything but the keys: who has none sends in vain."""
        self._way = self._behind_keys(bodies(self._answer))

    def _behind_keys(self, app: ASGIApp) -> ASGIApp:
        if self.keys is not None:
            app = RequireKey(app, self.keys)
        return EchoRequestId(app) if self._settings.enable_request_id_headers else app

    def endpoint(self, scope: Scope) -> Endpoint | None:
        """The endpoint that a request is for; None leaves it to FastAPI's routes."""
        if scope["type"] != "http" or scope["method"] != "POST":
            return None
        return self._endpoints.get(_route_path(scope))

    def needs_loop(self, scope: Scope) -> bool:
        """Whether a request cannot be answered on the spot: it waits for an engine, or FastAPI routes it."""
        return self.endpoint(scope) is None or _route_path(scope) in self._waiting

    async def _on_unrouted(self, request: Request, error: Exception) -> Response:
        """No route, or not with this method."""
        path, scope = _route_path(request.scope), request.scope
        told: RenderLayerError
        if isinstance(error, HTTPException) and error.status_code == 405:
            told = MethodNotAllowed(f"{scope['method']} is not a method of {path}.")
        elif path in FRONT_DOOR and not self._settings.engine_url:
            told = NotFound(
                f"This server has no engine to answer {path}. Name one with --engine-url ({PREFIX}ENGINE_URL)."
            )
        else:
            told = NotFound(f"There is no {scope['method']} {path} here.")
        response = _answer_to(told, path)
        response.headers.update(getattr(error, "headers", None) or {})
        return response

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        endpoint = self.endpoint(scope)
        if endpoint is None:
            await super().__call__(_routed(scope), receive, send)
            return
        with until_answered():
            try:
                response = await endpoint(Request(scope, receive, send))
            except FORESEEN as error:
                response = _answer_to(error, scope["path"])
            await response(scope, receive, send)


def _route_path(scope: Scope) -> str:
    path = str(scope["path"].removeprefix(scope.get("root_path", "")))
    return path.rstrip("/") or path


def _routed(scope: Scope) -> Scope:
    """A scope as the routes know it: without a slash at the end of its path, GET for HEAD (servers drop the body)."""
    if scope["type"] != "http":
        return scope
    path = scope["path"].rstrip("/") or scope["path"]
    return {**scope, "path": path, "method": "GET" if scope["method"] == "HEAD" else scope["method"]}


async def _on_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, FORESEEN)
    return _answer_to(error, request.url.path)


def _answer_to(error: RenderLayerError | UnicodeEncodeError | ModuleNotFoundError, path: str) -> Response:
    if isinstance(error, UnicodeEncodeError):
        error = unencodable(error)
    elif isinstance(error, ModuleNotFoundError):
        error = _not_installed(error)
    return error_response(error, in_anthropics_form=path.endswith(ANTHROPIC))


def _not_installed(error: ModuleNotFoundError) -> NotImplementedHere:
    """The answer to a request that needs one of the optional packages."""
    logger.error("the Python package %s is not installed", error.name)
    return NotImplementedHere(
        f"This server lacks the Python package {error.name}. "
        "Media need the extra 'renderlayer[multimodal]', or the deployment's parameter Multimodal."
    )


async def _on_crash(request: Request, error: Exception) -> Response:
    """What nobody foresaw: the type is logged, the message is not, since it may quote a prompt."""
    logger.error("unexpected %s on %s", type(error).__name__, request.url.path)
    return error_response(RenderLayerError("The server had an error while processing your request."))
