"""The engine's client: `/inference/v1/generate`, whole and streamed (wire.md 5)."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from math import inf
from typing import Any
from weakref import WeakKeyDictionary

import httpx2

from renderlayer.deadline import is_over, out_of_time, seconds_left
from renderlayer.derender.responses_items import GENERATE_PREFIX
from renderlayer.derender.sse import EventReader
from renderlayer.errors import BadGateway, GatewayTimeout, PayloadTooLarge, RenderLayerError, Unavailable
from renderlayer.secrets.secret import FRESH_SECONDS, Secret

GENERATE = "/inference/v1/generate"
ABORT = "/inference/v1/abort_requests"
HEALTH = "/health"
ANSWER_SECONDS = 600.0
"""Longest time in which an engine may say nothing."""
CONNECT_SECONDS = 5.0
SHORT_SECONDS = 2.0
"""Longest time of a call that needs no model: health, abort."""
IDLE_SECONDS = 3.0
"""How long an idle connection is kept: less than the 5 s after which a vLLM server closes it."""
IDLE_CONNECTIONS = 32
CLOSING_SECONDS = 0.5
"""How long the end of a stream may take after `[DONE]`, so that its connection can serve the next request."""

Json = dict[str, Any]


BUSY = frozenset({429, 502, 503, 504})
"""Statuses after which the same request may succeed; 502 and 504 are those of a load balancer that loses a target."""


class EngineError(RenderLayerError):
    """The engine refused a request; its status and error body are passed on unchanged."""

    def __init__(self, status: int, error: Json) -> None:
        super().__init__(str(error.get("message", "")), error.get("param"))
        self.status = status
        self.type = str(error.get("type", "BadRequestError"))


class Bearer(httpx2.Auth):
    """Sends the engine's key; one that a secret holds may have been rotated."""

    def __init__(self, key: str | Secret) -> None:
        self._key = key

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        if isinstance(self._key, str):
            if self._key:
                request.headers["Authorization"] = f"Bearer {self._key}"
            yield request
            return
        for oldest in (FRESH_SECONDS, 0.0):
            key, *_ = await asyncio.to_thread(self._key.texts, oldest)
            request.headers["Authorization"] = f"Bearer {key}"
            if (yield request).status_code != httpx2.codes.UNAUTHORIZED:
                return


class Engine:
    """A client of one generate service, for any number of event loops; each has a connection pool of its own.

    Args:
        url: base URL, without `/inference/v1/generate`.
        api_key: sent as a bearer token; a secret is read anew where the engine does not take what it held.
        transport: how requests travel; default: the network.
        refuse_aborted: treat whole answers that the engine ended with "abort", as it does while it is being stopped,
            as failures.

    Raises (all calls):
        EngineError: the engine answered with a client error.
        Unavailable: it is overloaded, starting, or out of reach; try again.
        BadGateway: it answered something that is not the wire.
    """

    def __init__(
        self,
        url: str,
        api_key: str | Secret = "",
        transport: httpx2.AsyncBaseTransport | None = None,
        refuse_aborted: bool = False,
    ) -> None:
        self.url = url.rstrip("/")
        self._auth = Bearer(api_key)
        self._transport = transport
        self._refuse_aborted = refuse_aborted
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, httpx2.AsyncClient] = WeakKeyDictionary()
        self._under_way: Counter[str] = Counter()
        self._aborts: set[asyncio.Task[None]] = set()

    async def aclose(self) -> None:
        """Close the connections, also those of event loops that run in other threads."""
        here = asyncio.get_running_loop()
        await asyncio.gather(*(task for task in self._aborts if task.get_loop() is here))
        while self._clients:
            loop, client = self._clients.popitem()
            if loop is here:
                await client.aclose()
            elif loop.is_running():
                await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(client.aclose(), loop))

    async def generate(self, request: Json, timeout: float | None = None) -> Json:
        """One whole answer (wire.md 5.2). Cancelling the call stops the engine.

        Args:
            request: a GenerateRequest.
            timeout: seconds that the answer may take in all (default: until the engine is silent for too long).
        """
        body, end = {**request, "stream": False, "stream_options": None}, _end(timeout)
        async with self._until_answered(request), self._sent(body, end) as response, _before(end):
            answer = _decoded(await response.aread())
        if not isinstance(answer, dict) or not isinstance(answer.get("choices"), list):
            raise BadGateway("The engine's answer is not a generate response.")
        if self._refuse_aborted and any(_aborted(choice) for choice in answer["choices"]):
            raise BadGateway("The engine was stopped before this answer was complete.")
        return answer

    async def stream(self, request: Json, timeout: float | None = None) -> AsyncGenerator[Json]:
        """The events of a streamed answer (wire.md 5.3), without the closing [DONE].

        Close the iterator (`contextlib.aclosing`): that closes the connection and stops the engine, wherever it is.

        Args:
            request: a GenerateRequest.
            timeout: seconds that the answer may take in all, as for `generate`.
        """
        body, end = {**request, "stream": True}, _end(timeout)
        async with (
            self._until_answered(request),
            self._sent(body, end) as response,
            aclosing(events(_parts(response, end))) as told,
        ):
            async for event in told:
                yield event

    async def check(self) -> None:
        """Ask the engine whether it is well, over the connections that its answers take.

        Raises:
            Unavailable, BadGateway: calls do not get through to it, or it says that it is not.
        """
        async with _before(_end(SHORT_SECONDS)):
            response = await self._client().get(HEALTH)
        _check(response.status_code, response.headers, b"")

    @asynccontextmanager
    async def _sent(self, body: Json, end: float | None) -> AsyncIterator[httpx2.Response]:
        """A request's answer, once its head is there and says that all is well."""
        client = self._client()
        async with _before(end):
            response = await client.send(client.build_request("POST", GENERATE, json=body), stream=True)
        try:
            if response.status_code != httpx2.codes.OK:
                async with _before(end):
                    content = await response.aread()
                _check(response.status_code, response.headers, content)
            yield response
        finally:
            await response.aclose()

    @asynccontextmanager
    async def _until_answered(self, request: Json) -> AsyncIterator[None]:
        """Abort the request by its id, too, if it is left before its end: a proxy may hide a closed connection.

        The id that the engine knows has its own prefix (wire.md 5.6). It aborts every request of an id, so one that is
        under way twice is left alone.
        """
        request_id = str(request.get("request_id") or "")
        self._under_way[request_id] += 1
        try:
            yield
        except (asyncio.CancelledError, GeneratorExit, Unavailable, GatewayTimeout):
            if request_id and self._under_way[request_id] == 1:
                self._abort_later(GENERATE_PREFIX + request_id)
            raise
        finally:
            self._under_way[request_id] -= 1
            if not self._under_way[request_id]:
                del self._under_way[request_id]

    def _abort_later(self, request_id: str) -> None:
        task = asyncio.get_running_loop().create_task(self._abort(request_id))
        self._aborts.add(task)
        task.add_done_callback(self._aborts.discard)

    async def _abort(self, request_id: str) -> None:
        try:
            async with _before(_end(SHORT_SECONDS)):
                await self._client().post(ABORT, json={"request_ids": [request_id]})
        except (Unavailable, GatewayTimeout):
            return  # the connection is closed already, which is what engines go by

    def _client(self) -> httpx2.AsyncClient:
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            client = self._clients[loop] = httpx2.AsyncClient(
                base_url=self.url,
                auth=self._auth,
                timeout=httpx2.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS, pool=None),
                limits=httpx2.Limits(
                    max_connections=None, max_keepalive_connections=IDLE_CONNECTIONS, keepalive_expiry=IDLE_SECONDS
                ),
                transport=self._transport,
            )
        return client


async def events(parts: AsyncGenerator[bytes]) -> AsyncGenerator[Json]:
    """Decode server-sent events up to [DONE].

    Raises:
        EngineError: the engine reported a failure in mid-stream.
        BadGateway: an event is none of the wire, or the stream ends without [DONE].
    """
    reader = EventReader()
    async with aclosing(parts):
        async for part in parts:
            try:
                found = reader.feed(part)
            except PayloadTooLarge as error:
                raise BadGateway(f"The engine sent too much at a time: {error.message}") from None
            for data in found:
                yield _event(data)
            if reader.done:
                await _end_of(parts)
                return
    raise BadGateway("The engine's stream ended before it was complete.")


def _aborted(choice: Any) -> bool:
    return isinstance(choice, dict) and choice.get("finish_reason") == "abort"


async def _end_of(parts: AsyncIterator[bytes]) -> None:
    try:
        async with asyncio.timeout(CLOSING_SECONDS):
            async for _ in parts:
                pass
    except (TimeoutError, RenderLayerError):
        return  # the answer is complete; its connection will not be used again


def _event(data: bytes) -> Json:
    try:
        event = json.loads(data)
    except (ValueError, RecursionError):
        raise BadGateway("The engine sent an event that is not JSON.") from None
    if not isinstance(event, dict):
        raise BadGateway("The engine sent an event that is not an object.")
    if isinstance(event.get("error"), dict):
        code = event["error"].get("code")
        raise EngineError(code if isinstance(code, int) and 400 <= code < 600 else 500, event["error"])
    return event


def _decoded(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        raise BadGateway("The engine's answer is not JSON.") from None


def _check(status: int, headers: httpx2.Headers, content: bytes) -> None:
    if status == httpx2.codes.OK:
        return
    if status in BUSY:
        wait = headers.get("retry-after", "")
        raise Unavailable("The engine is busy. Try again.", retry_after=int(wait) if wait.isdigit() else 1)
    try:
        error = json.loads(content)["error"]
    except (ValueError, KeyError, TypeError, RecursionError):
        error = None
    if isinstance(error, dict) and httpx2.codes.is_client_error(status):
        raise EngineError(status, error)
    raise BadGateway(f"The engine failed with status {status}.")


def _end(timeout: float | None) -> float | None:
    """When a call of so many seconds ends, on the running loop's clock; with what it is for, if that ends before."""
    seconds = seconds_left(inf if timeout is None else timeout)
    return None if seconds == inf else asyncio.get_running_loop().time() + seconds


@asynccontextmanager
async def _before(end: float | None) -> AsyncIterator[None]:
    """Wait for the engine until `end`; its faults become errors of the tree, without its address.

    It stands around single waits: a generator may be resumed by another task, which `asyncio.timeout` cannot follow.
    """
    try:
        async with asyncio.timeout_at(end):
            yield
    except (TimeoutError, httpx2.TimeoutException):
        if is_over():
            raise out_of_time() from None
        raise Unavailable("The engine did not answer in time.", retry_after=5) from None
    except httpx2.TransportError:
        raise Unavailable("The engine is out of reach.", retry_after=5) from None


async def _parts(response: httpx2.Response, end: float | None) -> AsyncGenerator[bytes]:
    async with aclosing(response.aiter_bytes()) as parts:
        while True:
            async with _before(end):
                part = await anext(parts, None)
            if part is None:
                return
            yield part
