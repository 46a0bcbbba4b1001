"""An engine that a function plays, in place of the network."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import httpcore2
import httpx2

Answer = Callable[[httpx2.Request], httpx2.Response]


class MockEngine:
    """A transport of the engine's client (`pipeline.connections.Transport`).

    Args:
        answer: makes the response to each request, or raises an error of httpcore.
    """

    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    async def handle_async_request(self, request: httpcore2.Request) -> httpcore2.Response:
        assert not isinstance(request.stream, bytes)
        body = b"".join([part async for part in request.stream])  # type: ignore[union-attr]
        url = bytes(request.url).decode()
        response = self._answer(httpx2.Request(request.method.decode(), url, headers=request.headers, content=body))
        return httpcore2.Response(response.status_code, headers=response.headers.raw, content=_Body(response))

    async def aclose(self) -> None:
        """There is no connection."""


class _Body:
    def __init__(self, response: httpx2.Response) -> None:
        self._stream = response.stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        assert isinstance(self._stream, httpx2.AsyncByteStream)
        async for part in self._stream:
            yield part

    async def aclose(self) -> None:
        assert isinstance(self._stream, httpx2.AsyncByteStream)
        await self._stream.aclose()
