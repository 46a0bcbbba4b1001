"""Connections to an engine: HTTP/1.1 by httpcore; the client around it (httpx) would be a tenth of a cold start."""

from __future__ import annotations

import base64
import os
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

import httpcore2

from renderlayer.request_context import trace_headers

ANSWER_SECONDS = 600.0
"""Longest time in which an engine may say nothing."""
CONNECT_SECONDS = 5.0
IDLE_SECONDS = 3.0
"""How long an idle connection is kept: less than the 5 s after which a vLLM server closes it."""
IDLE_CONNECTIONS = 32

TOO_LATE = httpcore2.TimeoutException
NOT_CONNECTED = httpcore2.ConnectTimeout
OUT_OF_REACH = (
    httpcore2.NetworkError,
    httpcore2.ProtocolError,
    httpcore2.ProxyError,
    httpcore2.UnsupportedProtocol,
)
"""What a request may raise."""
_TIMEOUTS = {"connect": CONNECT_SECONDS, "read": ANSWER_SECONDS, "write": ANSWER_SECONDS, "pool": None}

Trace = Callable[[str, Any], Awaitable[None]]


class Transport(Protocol):
    """What carries requests: a pool of httpcore's, or what stands in for one."""

    async def handle_async_request(self, request: httpcore2.Request) -> httpcore2.Response:
        """Send a request, to the head of its answer."""

    async def aclose(self) -> None:
        """Close all connections."""


class Response:
    """An answer whose head is there. Close it: that frees its connection, or ends it where the body is not read.

    Attributes:
        status: of HTTP.
    """

    def __init__(self, response: httpcore2.Response) -> None:
        self.status = response.status
        self._response = response
        self.aclose = response.aclose

    def header(self, name: bytes) -> str:
        """A header's value, "" without one."""
        return next((value.decode("latin-1") for key, value in self._response.headers if key.lower() == name), "")

    async def read(self) -> bytes:
        """The whole body; frees the connection."""
        try:
            return await self._response.aread()
        finally:
            await self.aclose()

    def parts(self) -> AsyncGenerator[bytes]:
        """The body as it comes."""
        return self._response.aiter_stream()


class Connections:
    """The connections to one engine, for one event loop.

    Args:
        url: base URL; a name and password in it become basic authentication.
        transport: default: the network, or the proxy that the environment names for it (`HTTP_PROXY`, `NO_PROXY`, …).
        address: the address of the URL's host that is connected to, where it has several; default: any.
    """

    def __init__(self, url: str, transport: Transport | None = None, address: str = "") -> None:
        parts = urlsplit(url)
        host = (parts.hostname or "").encode("idna").decode()
        self._origin: dict[str, Any] = {"scheme": parts.scheme, "host": address or host, "port": parts.port}
        self._extensions: dict[str, Any] = {"timeout": _TIMEOUTS}
        if address:
            self._extensions["sni_hostname"] = host  # whose name the certificate has
        self._prefix = parts.path.rstrip("/")
        named = (f"[{host}]" if ":" in host else host) + (f":{parts.port}" if parts.port else "")
        self._headers = [("Host", named.encode()), ("User-Agent", b"renderlayer"), ("Accept", b"*/*")]
        if parts.username:
            pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            self._headers.append(("Authorization", b"Basic " + base64.b64encode(pair.encode())))
        self.transport: Transport = transport or httpcore2.AsyncConnectionPool(
            proxy=proxy_of(parts.scheme, host),
            max_connections=None,
            max_keepalive_connections=IDLE_CONNECTIONS,
            keepalive_expiry=IDLE_SECONDS,
        )

    async def send(
        self, method: str, path: str, body: bytes | None = None, key: str = "", trace: Trace | None = None
    ) -> Response:
        """Send a request, to the head of its answer.

        Args:
            path: below the base URL.
            body: JSON.
            key: sent as a bearer token.
            trace: told of the request's steps (https://www.encode.io/httpcore/extensions/#trace).

        Raises:
            TOO_LATE, OUT_OF_REACH.
        """
        headers = list(self._headers)
        if body is not None:
            headers += [("Content-Type", b"application/json"), ("Content-Length", str(len(body)).encode())]
        if key:
            headers = [pair for pair in headers if pair[0] != "Authorization"]
            headers.append(("Authorization", b"Bearer " + key.encode()))
        headers += [(name, value.encode()) for name, value in trace_headers()]
        extensions = self._extensions if trace is None else {**self._extensions, "trace": trace}
        request = httpcore2.Request(
            method,
            httpcore2.URL(**self._origin, target=self._prefix + path),
            headers=headers,
            content=body,
            extensions=extensions,
        )
        return Response(await self.transport.handle_async_request(request))

    async def aclose(self) -> None:
        """Close all of them."""
        await self.transport.aclose()


def proxy_of(scheme: str, host: str) -> httpcore2.Proxy | None:
    """The proxy that the environment names for a host."""
    if not any(name.lower().endswith("_proxy") for name in os.environ):
        return None
    from urllib.request import getproxies, proxy_bypass

    proxies = getproxies()
    url = proxies.get(scheme) or proxies.get("all")
    if not url or proxy_bypass(host):
        return None
    parts = urlsplit(url if "://" in url else f"http://{url}")
    auth = (unquote(parts.username), unquote(parts.password or "")) if parts.username else None
    return httpcore2.Proxy(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}", auth=auth)
