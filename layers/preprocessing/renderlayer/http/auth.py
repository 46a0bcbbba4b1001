"""API keys and request ids, as plain ASGI middleware (wire.md 1.2, 1.3)."""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Sequence

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from renderlayer.errors import Unauthorized
from renderlayer.http.body import error_response

GUARDED = ("/v1", "/v2", "/inference", "/cohere")


class RequireKey:
    """Asks callers of guarded paths for one of the keys. Keys are compared as digests, in constant time.

    Args:
        guarded: beginnings of the guarded paths.
    """

    def __init__(self, app: ASGIApp, keys: Sequence[str], guarded: tuple[str, ...] = GUARDED) -> None:
        self.app = app
        self.guarded = guarded
        self.digests = [hashlib.sha256(key.encode()).digest() for key in keys]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and self._guarded(scope) and not self._known(scope):
            await error_response(Unauthorized("Unauthorized"))(scope, receive, send)
            return
        await self.app(scope, receive, send)

    def _guarded(self, scope: Scope) -> bool:
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        return scope["method"] != "OPTIONS" and str(path).startswith(self.guarded)

    def _known(self, scope: Scope) -> bool:
        headers = dict(scope["headers"])
        scheme, _, token = headers.get(b"authorization", b"").partition(b" ")
        if scheme.lower() != b"bearer":
            return False
        digest = hashlib.sha256(token.strip()).digest()
        matches = [hmac.compare_digest(digest, known) for known in self.digests]
        return any(matches)


class EchoRequestId:
    """Answers with the request's X-Request-Id, or with a new one."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        given = dict(scope["headers"]).get(b"x-request-id") or os.urandom(16).hex().encode()

        async def send_with_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), (b"x-request-id", given)]}
            await send(message)

        await self.app(scope, receive, send_with_id)
