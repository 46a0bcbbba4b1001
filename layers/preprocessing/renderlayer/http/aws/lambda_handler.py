"""The application as a Lambda handler: HTTP API (payload 2.0), REST API, function URL or load balancer before it."""

from __future__ import annotations

import logging
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import Any

from mangum import Mangum
from mangum.handlers.api_gateway import HTTPGateway
from mangum.types import LambdaHandler as Source
from starlette.types import ASGIApp, Receive, Scope, Send

from renderlayer.deadline import ending
from renderlayer.errors import BadRequest, ConfigurationError
from renderlayer.http.application import Application
from renderlayer.http.aws.asgi_cycle import THREAD, ASGICycle, BufferedResponse, ResponseWriter, finish
from renderlayer.http.execution.threads import SHARED, STREAMED
from renderlayer.http.middleware.access_log import AccessLogMiddleware
from renderlayer.http.middleware.body_limit import BodyLimitMiddleware, replayed
from renderlayer.http.middleware.server_errors import ServerErrorMiddleware
from renderlayer.http.request import put_under
from renderlayer.http.response import Response, error_response
from renderlayer.settings import Settings

ENVELOPE = 64 << 10
"""Bytes left for status, headers and field names around the body that a function returns."""
LOAD_BALANCER_LIMIT = (1 << 20) - ENVELOPE
"""Bytes of body that an Application Load Balancer takes from a function (1 MB in all)."""

LAST_SECONDS = 1.5
"""Seconds at the end of an invocation that are kept for the answer, so that it comes before the gateway gives up."""

logger = logging.getLogger(__name__)


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
