"""The application as a Lambda handler: HTTP API (payload 2.0), REST API, function URL or load balancer before it."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Coroutine
from functools import cached_property
from typing import Any

from mangum import Mangum
from mangum.handlers.api_gateway import HTTPGateway
from starlette.types import ASGIApp, Message, Scope

from renderlayer.http.application import Application
from renderlayer.http.bodies import Bodies
from renderlayer.http.contain import Contain
from renderlayer.http.journal import Journal
from renderlayer.http.prefix import put_under
from renderlayer.settings import Settings

ENVELOPE = 64 << 10
"""Bytes left for status, headers and field names around the body that a function returns."""
LOAD_BALANCER_LIMIT = (1 << 20) - ENVELOPE
"""Bytes of body that an Application Load Balancer takes from a function (1 MB in all)."""


class _Loop:
    """An event loop that is closed when the thread that holds it ends."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self.run = self._loop.run_until_complete

    def __del__(self) -> None:
        self._loop.close()


class _Thread(threading.local):
    """What each thread has of its own."""

    def __init__(self) -> None:
        self.loop = _Loop()


_thread = _Thread()


class _Exchange:
    """One request and its answer. Mangum's own cycle makes a queue, a buffer and log records for each."""

    def __init__(self, body: bytes) -> None:
        self.status = 500
        self.headers: list[list[bytes]] = []
        self.body = b""
        self._parts: list[bytes] = []
        self._request: Message | None = {"type": "http.request", "body": body, "more_body": False}
        self._ended: asyncio.Future[Message] | None = None

    async def receive(self) -> Message:
        """The body, then, once the answer is complete, the end of the connection."""
        request, self._request = self._request, None
        if request is not None:
            return request
        self._ended = self._ended or asyncio.get_running_loop().create_future()
        return await asyncio.shield(self._ended)

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status, self.headers = message["status"], message.get("headers", [])
            return
        self._parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            self.body = b"".join(self._parts)
            if self._ended is not None:
                self._ended.set_result({"type": "http.disconnect"})


def _finish(work: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine that waits for nothing: an event loop would take longer than many a request."""
    try:
        work.send(None)
    except StopIteration:
        return
    work.close()
    raise RuntimeError("a function's endpoint waited for an event loop")


class _Gateway(HTTPGateway):
    """Mangum's reader of API Gateway's events, which makes the scope anew whenever it is asked."""

    @cached_property
    def scope(self) -> Scope:
        return super().scope


class LambdaHandler(Mangum):
    """A handler `(event, context) -> result` over an ASGI application: Mangum's events and results, our way between.

    Safe to call from several threads at a time: each has an event loop of its own, which lives as long as the thread.

    Args:
        app: an `Application` answers its endpoints without an event loop.
        settings: limits, and the prefix of the paths.
        service: the function's name, in its log lines and metrics.
    """

    def __init__(self, app: ASGIApp, settings: Settings, service: str) -> None:
        self._direct = app if isinstance(app, Application) else None
        self._prefix = settings.root_path
        self._largest = settings.max_response_bytes
        bodies = Bodies(app, settings.max_body_bytes, self._response_limit)
        super().__init__(Journal(Contain(bodies), service), lifespan="off", custom_handlers=[_Gateway])

    def __call__(self, event: dict[str, Any], context: Any) -> dict[str, Any]:
        host = self.infer(event, context)
        scope, exchange = host.scope, _Exchange(host.body)
        put_under(scope, self._prefix)
        work = self._work(scope, exchange)
        if self._direct and self._direct.endpoint(scope):
            _finish(work)
        else:
            _thread.loop.run(work)
        return host({"status": exchange.status, "headers": exchange.headers, "body": exchange.body})

    async def _work(self, scope: Scope, exchange: _Exchange) -> None:
        await self.app(scope, exchange.receive, exchange.send)

    def _setup_event_loop(self) -> None:
        """Each thread has its own."""

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
