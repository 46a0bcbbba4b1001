"""API Gateway on a laptop: an HTTP request becomes an event, the deployed handler answers it in a thread."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import Any

from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from infra.local.events import Context, answer, http_event
from infra.local.template import Template
from renderlayer.errors import PayloadTooLarge
from renderlayer.http.body import read_body, refusal

Handler = Callable[[dict[str, Any], Any], dict[str, Any]]

CONCURRENCY = 16
"""Handler calls at a time; further requests wait."""


class Gateway:
    """An ASGI application over handlers.

    Args:
        template: functions and routes.
        handlers: the handler of each function, by logical id.
        max_body_bytes: largest request body; a larger one gets 413 here, before it becomes an event.
    """

    def __init__(self, template: Template, handlers: Mapping[str, Handler], max_body_bytes: int) -> None:
        self._template = template
        self._handlers = handlers
        self._max_body_bytes = max_body_bytes
        self._pool = ThreadPoolExecutor(CONCURRENCY, thread_name_prefix="function")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = await self._answer(scope, receive)
        await response(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive) -> Response:
        name = self._template.function_for(scope["method"], scope["path"])
        if name is None:
            return JSONResponse({"message": "Not Found"}, 404)
        try:
            body = await read_body(scope, receive, self._max_body_bytes)
        except PayloadTooLarge as error:
            return refusal(error)
        call = asyncio.get_running_loop().run_in_executor(
            self._pool, self._handlers[name], http_event(scope, body), Context(name)
        )
        try:
            return answer(await call)
        except Exception:
            traceback.print_exc()
            return JSONResponse({"message": "Internal Server Error"}, 500)

    def close(self) -> None:
        """Drop calls that have not begun; those under way finish."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def load_handlers(template: Template) -> dict[str, Handler]:
    """Import the handlers that routes lead to, as Lambda does at a cold start: each reads the environment's settings.

    Raises:
        ConfigurationError: the settings or the model cannot work.
    """
    functions = {name: template.functions[name] for name in template.routes.values()}
    return {name: getattr(import_module(function.module), function.attribute) for name, function in functions.items()}
