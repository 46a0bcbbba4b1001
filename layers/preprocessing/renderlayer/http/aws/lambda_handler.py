"""The application as a Lambda handler: HTTP API (payload 2.0), REST API, function URL or load balancer before it."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Coroutine
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import Any, Protocol

from mangum import Mangum
from mangum.handlers.api_gateway import HTTPGateway
from mangum.types import LambdaHandler as Source
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from renderlayer.errors import BadRequest, ConfigurationError
from renderlayer.http.application import Application, ServerErrorMiddleware
from renderlayer.http.execution.work import SHARED, STREAMED
from renderlayer.http.middleware.access_log import AccessLogMiddleware
from renderlayer.http.middleware.body_limit import BodyLimitMiddleware, replayed
from renderlayer.http.request import put_under
from renderlayer.http.response import Response, error_response
from renderlayer.request_context import ending
from renderlayer.settings import Settings

ENVELOPE = 64 << 10
"""Bytes left for status, headers and field names around the body that a function returns."""
LOAD_BALANCER_LIMIT = (1 << 20) - ENVELOPE
"""Bytes of body that an Application Load Balancer takes from a function (1 MB in all)."""

LAST_SECONDS = 1.5
"""Seconds at the end of an invocation that are kept for the answer, so that it comes before the gateway gives up."""

logger = logging.getLogger(__name__)


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


THREAD = _Thread()


class ResponseWriter(Protocol):
    """Where an answer goes."""

    def begin(self, status: int, headers: list[list[bytes]]) -> None:
        """Take status and headers."""

    def write(self, part: bytes) -> None:
        """Take a part of the body."""


class BufferedResponse:
    """An answer that is collected."""

    def __init__(self) -> None:
        self.status = 500
        self.headers: list[list[bytes]] = []
        self._parts: list[bytes] = []

    def begin(self, status: int, headers: list[list[bytes]]) -> None:
        self.status, self.headers = status, headers

    def write(self, part: bytes) -> None:
        self._parts.append(part)

    @property
    def body(self) -> bytes:
        """What has come of the body."""
        return b"".join(self._parts)


class ASGICycle:
    """One request and its answer. Mangum's own cycle makes a queue, a buffer and log records for each.

    Attributes:
        ended: the answer is complete.
    """

    def __init__(self, body: bytes, answer: ResponseWriter) -> None:
        self.ended = False
        self._answer = answer
        self._request: Message | None = {"type": "http.request", "body": body, "more_body": False}
        self._disconnected: asyncio.Future[Message] | None = None

    async def receive(self) -> Message:
        """The body, then, once the answer is complete, the end of the connection."""
        request, self._request = self._request, None
        if request is not None:
            return request
        self._disconnected = self._disconnected or asyncio.get_running_loop().create_future()
        return await asyncio.shield(self._disconnected)

    async def send(self, message: Message) -> None:
        """Pass a message of the answer on."""
        if message["type"] == "http.response.start":
            self._answer.begin(message["status"], message.get("headers", []))
            return
        self._answer.write(message.get("body", b""))
        if not message.get("more_body", False):
            self.ended = True
            if self._disconnected is not None:
                self._disconnected.set_result({"type": "http.disconnect"})


def finish(work: Coroutine[Any, Any, None]) -> None:
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


SOURCES: list[type[Source]] = [_Gateway]
"""Readers of events, asked in order before Mangum's own; a new source of events is a class here."""


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
        self._advice = f"At {settings.stream_url} it has more." if settings.stream_url else ""
        if settings.allowed_origins:
            from renderlayer.http.middleware.cors import with_cors

            app = with_cors(app, settings.allowed_origins)
        bodies = BodyLimitMiddleware(app, settings.max_body_bytes, self._response_limit)
        super().__init__(
            AccessLogMiddleware(ServerErrorMiddleware(bodies), service), lifespan="off", custom_handlers=SOURCES
        )

    def __call__(self, event: dict[str, Any], context: Any) -> dict[str, Any]:
        """Answer an event.

        Raises:
            ConfigurationError: it is none of HTTP; it must not look as if it had been dealt with.
        """
        try:
            host, scope, body = self._read(event, context)
        except BadRequest as error:
            return _result(error_response(error))
        answer = BufferedResponse()
        work = self._work(scope, ASGICycle(body, answer))
        with self._ending(context):
            if self._direct is None or self._direct.needs_loop(scope):
                THREAD.loop.run(work)
            else:
                finish(work)
        return host({"status": answer.status, "headers": answer.headers, "body": answer.body})

    def stream(self, event: dict[str, Any], context: Any, answer: ResponseWriter) -> None:
        """Answer an event part by part, for a runtime that sends them on.

        Raises:
            ConfigurationError: it is none of HTTP.
        """
        try:
            _, scope, body = self._read(event, context)
        except BadRequest as error:
            response = error_response(error)
            answer.begin(response.status_code, [[*pair] for pair in response.raw_headers])
            answer.write(response.body)
            return
        scope[STREAMED] = True
        exchange = ASGICycle(body, answer)
        with self._ending(context):
            THREAD.loop.run(self._work(scope, exchange))
        if not exchange.ended:
            raise RuntimeError("the answer broke off")

    async def serve(self, event: dict[str, Any], context: Any, receive: Receive, send: Send) -> None:
        """Answer an event part by part on the running event loop, where a server does the same for others meanwhile.

        Args:
            receive: tells, after the event's body, when the client leaves.
            send: takes the answer.

        Raises:
            ConfigurationError: it is none of HTTP.
        """
        try:
            _, scope, body = self._read(event, context)
        except BadRequest as error:
            await error_response(error)({"type": "http"}, receive, send)
            return
        scope[STREAMED] = scope[SHARED] = True
        await self.app(scope, replayed(body, receive), send)

    def _read(self, event: dict[str, Any], context: Any) -> tuple[Source, Scope, bytes]:
        """What an event came from, its scope and its body.

        Raises:
            ConfigurationError: the event is none of HTTP.
            BadRequest: it lacks what its form promises; the fault's own words stay out, as they may quote the body.
        """
        try:
            host = self.infer(event, context)
        except (RuntimeError, TypeError):
            raise ConfigurationError(
                "This function answers requests of an HTTP API, a REST API, a function URL or a load balancer; "
                "the event is none of them."
            ) from None
        try:
            scope, body = host.scope, host.body
        except Exception as error:
            kind = type(error).__name__
            logger.warning("malformed event: %s", kind)
            raise BadRequest(f"The event of the gateway is malformed ({kind}).") from None
        put_under(scope, self._prefix)
        return host, scope, body

    async def _work(self, scope: Scope, exchange: ASGICycle) -> None:
        await self.app(scope, exchange.receive, exchange.send)

    def _ending(self, context: Any) -> AbstractContextManager[None]:
        """The time that an invocation has for its work."""
        remaining = getattr(context, "get_remaining_time_in_millis", None)
        if remaining is None:
            return nullcontext()
        return ending(remaining() / 1000 - LAST_SECONDS, self._advice)

    def _setup_event_loop(self) -> None:
        """Each thread has its own."""

    def _response_limit(self, scope: Scope) -> int | None:
        if "elb" in scope["aws.event"]["requestContext"]:
            return LOAD_BALANCER_LIMIT
        return self._largest - ENVELOPE if self._largest and STREAMED not in scope else None


def _result(response: Response) -> dict[str, Any]:
    """A result that every source of events takes."""
    return {
        "statusCode": response.status_code,
        "headers": dict(response.headers),
        "body": response.body.decode(),
        "isBase64Encoded": False,
    }
