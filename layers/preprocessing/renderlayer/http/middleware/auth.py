"""API keys and request ids, as plain ASGI middleware (wire.md 1.2, 1.3)."""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from renderlayer.errors import Unauthorized, Unavailable
from renderlayer.http.execution.work import run_blocking
from renderlayer.http.response import error_response
from renderlayer.settings import Settings

if TYPE_CHECKING:
    from renderlayer.secrets.secret import Secret

OPEN = frozenset({"/health", "/ping"})
"""Paths that load balancers and routers ask without a key."""
RECHECK_SECONDS = 5
"""Age up to which what was read of a secret is believed when it does not know a key: it may have been rotated."""


class Keys:
    """The keys that are valid, compared as digests, in constant time.

    Args:
        fixed: keys of the settings.
        secret: where more are.
    """

    def __init__(self, fixed: Sequence[str], secret: Secret | None = None) -> None:
        self._fixed = _digests(fixed)
        self._secret = secret
        self.waits = secret is not None

    @classmethod
    def of(cls, settings: Settings) -> Keys | None:
        """Those of the settings; None where everybody may call."""
        if settings.api_key_secret:
            from renderlayer.secrets.secret import Secret

            return cls(settings.api_key, Secret(settings.api_key_secret))
        return cls(settings.api_key) if settings.api_key else None

    def know(self, token: bytes) -> bool:
        """Whether a token is one of them; may wait for the secret.

        Raises:
            Unavailable: the secret cannot be read.
        """
        digest = _digest(token)
        if _among(digest, self._fixed):
            return True
        if self._secret is None:
            return False
        kept = self._secret.texts()
        return _among(digest, _digests(kept)) or _among(digest, _digests(self._secret.texts(RECHECK_SECONDS)))


class RequireKey:
    """Asks callers of every path but `OPEN` for a key: as a bearer token, or in `x-api-key`, as Anthropic's clients do.

    The second is the only way where `Authorization` holds a signature (function URLs with AWS_IAM).
    """

    def __init__(self, app: ASGIApp, keys: Keys) -> None:
        self.app = app
        self.keys = keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and self._guarded(scope):
            try:
                known = await self._known(scope)
            except Unavailable as error:
                await error_response(error)(scope, receive, send)
                return
            if not known:
                await error_response(Unauthorized("Unauthorized"))(scope, receive, send)
                return
        await self.app(scope, receive, send)

    def _guarded(self, scope: Scope) -> bool:
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        return scope["method"] != "OPTIONS" and path not in OPEN

    async def _known(self, scope: Scope) -> bool:
        tokens = list(_tokens(scope))
        if self.keys.waits:
            return await run_blocking(scope, lambda: any(map(self.keys.know, tokens)))
        return any(map(self.keys.know, tokens))


def _tokens(scope: Scope) -> Iterator[bytes]:
    """The keys that a request presents."""
    headers = dict(scope["headers"])
    scheme, _, token = headers.get(b"authorization", b"").partition(b" ")
    if scheme.lower() == b"bearer":
        yield token.strip()
    if b"x-api-key" in headers:
        yield headers[b"x-api-key"].strip()


def _digest(key: bytes) -> bytes:
    return hashlib.sha256(key).digest()


def _digests(keys: Sequence[str]) -> list[bytes]:
    return [_digest(key.encode()) for key in keys]


def _among(digest: bytes, known: Sequence[bytes]) -> bool:
    matches = [hmac.compare_digest(digest, one) for one in known]  # all of them, so that the time tells nothing
    return any(matches)


class EchoRequestId:
    """Answers with the request's X-Request-Id, or with a new one where there is none or it holds control characters."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        given = dict(scope["headers"]).get(b"x-request-id", b"")
        if not given or any(byte < 0x20 or byte == 0x7F for byte in given):
            given = os.urandom(16).hex().encode()

        async def send_with_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), (b"x-request-id", given)]}
            await send(message)

        await self.app(scope, receive, send_with_id)
