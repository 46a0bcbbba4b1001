"""The FastAPI application behind the endpoints: status routes, what is not found, and the description of it all.

Imported where a request needs it, which none of the endpoints' POSTs does: FastAPI takes longer to import than
everything else of a function together.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from renderlayer import __version__
from renderlayer.errors import MethodNotAllowed, NotFound, RenderLayerError
from renderlayer.http.execution.disconnect import Disconnected, NoAnswer
from renderlayer.http.openapi import description
from renderlayer.http.page.docs import DOCS, offline_docs
from renderlayer.http.request import FRONT_DOOR, route_path
from renderlayer.http.response import FORESEEN, answer_to, error_response
from renderlayer.http.response import Response as Answer
from renderlayer.settings import PREFIX, Settings

TITLE = "renderlayer"
UNROUTED = (404, 405)

logger = logging.getLogger("renderlayer")


Extend = Callable[[FastAPI], None]
"""Adds to an application: routes, handlers of errors, middleware."""


class Api(FastAPI):
    """FastAPI with this project's errors and its description.

    Args:
        settings: tell whether there is an engine.
        posts: paths that answer POST elsewhere; other methods get 405 here.
    """

    def __init__(self, settings: Settings, posts: Iterable[str]) -> None:
        docs = offline_docs(TITLE)
        super().__init__(title=TITLE, version=__version__, routes=docs, docs_url=None if docs else DOCS, redoc_url=None)
        self._settings = settings
        for path in posts:
            self.add_route(path, _elsewhere, methods=["POST"])
        self.router.redirect_slashes = False  # a path with a slash at its end is the same path, at the same scheme
        for status in UNROUTED:
            self.add_exception_handler(status, self._on_unrouted)
        for foreseen in FORESEEN:
            self.add_exception_handler(foreseen, _on_error)
        self.add_exception_handler(Disconnected, _on_disconnect)
        self.add_exception_handler(Exception, _on_crash)

    def openapi(self) -> dict[str, Any]:
        """What `/openapi.json` answers: the description of the whole deployment, whichever function is asked for it."""
        return description()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await super().__call__(_routed(scope), receive, send)

    async def _on_unrouted(self, request: Request, error: Exception) -> Response:
        """No route, or not with this method."""
        path, scope = route_path(request.scope), request.scope
        fault: RenderLayerError
        if isinstance(error, HTTPException) and error.status_code == 405:
            fault = MethodNotAllowed(f"{scope['method']} is not a method of {path}.")
        elif path in FRONT_DOOR and not self._settings.engine_url:
            fault = NotFound(
                f"This server has no engine to answer {path}. Name one with --engine-url ({PREFIX}ENGINE_URL)."
            )
        else:
            fault = NotFound(f"There is no {scope['method']} {path} here.")
        response = as_starlettes(answer_to(fault, path))
        response.headers.update(getattr(error, "headers", None) or {})
        return response


def build_api(settings: Settings, posts: Iterable[str], extensions: Iterable[Extend]) -> Api:
    """The application, with what else is to be added to it."""
    api = Api(settings, posts)
    for extend in extensions:
        extend(api)
    return api


def _routed(scope: Scope) -> Scope:
    """A scope as the routes know it: without a slash at the end of its path, GET for HEAD (servers drop the body)."""
    if scope["type"] != "http":
        return scope
    path = scope["path"].rstrip("/") or scope["path"]
    return {**scope, "path": path, "method": "GET" if scope["method"] == "HEAD" else scope["method"]}


async def _elsewhere(request: Request) -> Response:
    """Stands for an endpoint that is called before it comes to this application."""
    raise AssertionError(request.url.path)


def as_starlettes(response: Answer) -> Response:
    """A response of ours as FastAPI takes it from endpoints and handlers."""
    return Response(response.body, response.status_code, response.headers)


async def _on_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, FORESEEN)
    return as_starlettes(answer_to(error, request.url.path))


async def _on_disconnect(request: Request, error: Exception) -> Response:
    return as_starlettes(NoAnswer())


async def _on_crash(request: Request, error: Exception) -> Response:
    """What nobody foresaw: the type is logged, the message is not, since it may quote a prompt."""
    logger.error("unexpected %s on %s", type(error).__name__, request.url.path)
    return as_starlettes(error_response(RenderLayerError("The server had an error while processing your request.")))
