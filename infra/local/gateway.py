"""API Gateway on a laptop: an HTTP request becomes an event, and the deployed handler answers it.

The front door's answers are streamed, as behind the function URL of the stack; with `buffered` they are collected, as
the HTTP API does, which cannot stream. Either way the function that streams makes them, on the event loop: calls that
wait for an engine in threads of their own would keep each other waiting.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from infra.local.collecting import Collecting
from infra.local.events import Context, answer, http_event
from infra.local.template import Template
from renderlayer.errors import NotFound, RenderLayerError
from renderlayer.http.aws.lambda_handler import LambdaHandler
from renderlayer.http.execution.body_memory import SHARE
from renderlayer.http.execution.disconnect import Disconnected, NoAnswer
from renderlayer.http.execution.work import COUNTS
from renderlayer.http.middleware.body_limit import decompressed
from renderlayer.http.request import Incoming, header
from renderlayer.http.response import error_response

Handler = Callable[[dict[str, Any], Any], dict[str, Any]]

CONCURRENCY = 16
"""Handler calls at a time; further requests wait."""
FAILURE = "The server had an error while processing your request."


class Gateway:
    """An ASGI application over handlers.

    Args:
        template: functions and routes.
        handlers: the handler of each function, by logical id. Those that are `LambdaHandler`s are served on the event
            loop, where an answer that waits for an engine takes no thread; the others are called in threads.
        max_body_bytes: largest request body; a larger one gets 413 here, before it becomes an event.
        patience: seconds that a body may take before it has to have a certain speed (`request.Incoming`); 0: any time.
        buffered: whether answers are collected before they are sent.
    """

    def __init__(
        self,
        template: Template,
        handlers: Mapping[str, Handler],
        max_body_bytes: int,
        patience: float = 0,
        buffered: bool = False,
    ) -> None:
        self._template = template
        self._handlers = handlers
        self._max_body_bytes = max_body_bytes
        self._patience = patience
        self._buffered = buffered
        self._pool = ThreadPoolExecutor(CONCURRENCY, thread_name_prefix="function")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        name = self._template.function_for(scope["method"], scope["path"])
        if name is None:
            await error_response(NotFound("Not Found"))(scope, receive, send)
            return
        incoming = Incoming(scope, receive, self._patience)
        try:
            body = await incoming.read(self._max_body_bytes)
            packed = header(scope, b"content-encoding")
            if packed and SHARE in scope:  # which the function unpacks
                await scope[SHARE].add(decompressed(body, packed, self._max_body_bytes))
        except Disconnected:
            await NoAnswer()(scope, receive, send)
            return
        except RenderLayerError as error:
            await incoming.refuse(error, send)
            return
        handler, event = self._handlers[name], http_event(scope, body)
        context = Context(name, counts=scope.get(COUNTS))
        if isinstance(handler, LambdaHandler):
            await handler.serve(event, context, receive, Collecting(send) if self._buffered else send)
        else:
            response = await self._called(handler, event, context)
            await response(scope, receive, send)

    async def _called(self, handler: Handler, event: dict[str, Any], context: Context) -> ASGIApp:
        try:
            return answer(await asyncio.get_running_loop().run_in_executor(self._pool, handler, event, context))
        except Exception:
            traceback.print_exc()
            return error_response(RenderLayerError(FAILURE))

    def close(self) -> None:
        """Drop calls that have not begun; those under way finish."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def load_handlers(template: Template) -> dict[str, Handler]:
    """Import the handlers that routes lead to, as Lambda does at a cold start: each reads the environment's settings.

    The front door is the function that streams, where there is one.

    Raises:
        ConfigurationError: the settings or the model cannot work.
    """
    loaded: dict[str, Handler] = {}
    for name in set(template.routes.values()):
        streaming = template.streaming if name == template.front_door else None
        function = template.functions[streaming or name]
        loaded[name] = getattr(import_module(function.module), function.attribute)
    return loaded
