"""The engine's side of references: ASGI middleware that swaps them for payloads before the engine reads the body.

    vllm serve MODEL --enable-scale-out --middleware renderlayer.references.ResolveReferences

Configured by the environment: RENDERLAYER_REFERENCE_BUCKET and _PREFIX, or _ALLOWED; _CACHE_BYTES, _SECONDS, _MODEL.
"""

from __future__ import annotations

import hmac
import json
import os
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

from renderlayer.errors import PayloadTooLarge, RenderLayerError
from renderlayer.references.address import allowed_places
from renderlayer.references.resolve import Resolver
from renderlayer.references.scan import mentioned
from renderlayer.settings import Settings
from renderlayer.storage.objects import ObjectStore
from renderlayer.storage.s3 import S3Store

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

PATH = "/inference/v1/generate"
ENGINE_KEY = "VLLM_API_KEY"


class ResolveReferences:
    """Resolves references in the bodies of `/inference/v1/generate`; everything else passes through unread.

    A body without references is handed on in the messages in which it came. The engine checks keys behind this
    middleware, so where the key is known from the environment (VLLM_API_KEY, RENDERLAYER_API_KEY) nothing is fetched
    for callers who do not have it; the engine refuses them.

    Args:
        app: the engine's application.
        settings: default: from the environment.
        store: where the objects are; default: S3.

    Raises:
        ConfigurationError: no place is set from which references may be read.
    """

    def __init__(self, app: App, settings: Settings | None = None, store: ObjectStore | None = None) -> None:
        settings = settings or Settings.from_environment()
        self._app = app
        self._keys = [key.encode() for key in (*settings.api_key, os.environ.get(ENGINE_KEY, "")) if key]
        self._most = settings.max_body_bytes
        self._resolver = Resolver(
            store or S3Store(),
            allowed_places(settings),
            settings.reference_cache_bytes,
            settings.reference_seconds,
            settings.reference_model,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not (scope["type"] == "http" and scope["path"].endswith(PATH) and self._knows(scope)):
            return await self._app(scope, receive, send)
        try:
            scope, body = await self._resolved(scope, receive)
        except RenderLayerError as error:
            return await _refuse(error, send)
        try:
            await self._app(scope, body, send)
        finally:
            body.drop()

    async def _resolved(self, scope: Scope, receive: Receive) -> tuple[Scope, _Body]:
        """The request with payloads in its body."""
        messages = await _whole(receive)
        chunks = [message.get("body", b"") for message in messages]
        resolved = None
        if messages[-1]["type"] == "http.request" and mentioned(chunks):
            if sum(map(len, chunks)) > self._most:
                raise PayloadTooLarge(f"A body with references may have {self._most} bytes (setting max_body_bytes).")
            resolved = await self._resolver.resolve(b"".join(chunks))
        if resolved is None:
            return scope, _Body(messages, receive)
        size = sum(map(len, resolved.segments))
        headers = _with_length(scope["headers"], size)
        return {**scope, "headers": headers}, _Body(_messages(resolved.segments), receive, resolved.lease.release)

    def _knows(self, scope: Scope) -> bool:
        """Whether the caller has one of the keys, as far as they are known here."""
        scheme, _, token = dict(scope["headers"]).get(b"authorization", b"").partition(b" ")
        matches = [hmac.compare_digest(token.strip(), key) for key in self._keys]
        return not self._keys or (scheme.lower() == b"bearer" and any(matches))


class _Body:
    """Gives out the messages of a body, keeping none of them, then what comes behind it.

    Args:
        sent: called once the last one is given out, or the body is dropped.
    """

    def __init__(self, messages: Iterable[Message], receive: Receive, sent: Callable[[], None] = lambda: None) -> None:
        self._messages = deque(messages)
        self._receive = receive
        self._sent = sent

    async def __call__(self) -> Message:
        if not self._messages:
            return await self._receive()
        message = self._messages.popleft()
        if not self._messages:
            self._sent()
        return message

    def drop(self) -> None:
        """Forget what was not asked for."""
        self._messages.clear()
        self._sent()


async def _whole(receive: Receive) -> list[Message]:
    """The messages of a body, up to its end or the client's."""
    messages = [await receive()]
    while messages[-1].get("more_body", False):
        messages.append(await receive())
    return messages


def _messages(segments: Iterable[bytes]) -> list[Message]:
    messages: list[Message] = [
        {"type": "http.request", "body": segment, "more_body": True} for segment in segments if segment
    ]
    messages[-1]["more_body"] = False
    return messages


def _with_length(headers: Iterable[tuple[bytes, bytes]], size: int) -> list[tuple[bytes, bytes]]:
    """The headers, with the length corrected where one is given."""
    return [(name, str(size).encode() if name.lower() == b"content-length" else value) for name, value in headers]


async def _refuse(error: RenderLayerError, send: Send) -> None:
    content = json.dumps(error.body(), ensure_ascii=False).encode("utf-8", "backslashreplace")
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(content)).encode())]
    retry_after = getattr(error, "retry_after", None)
    if retry_after is not None:
        headers.append((b"retry-after", str(retry_after).encode()))
    await send({"type": "http.response.start", "status": error.status, "headers": headers})
    await send({"type": "http.response.body", "body": content})
