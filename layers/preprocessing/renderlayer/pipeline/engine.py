"""The engine's client: `/inference/v1/generate`, whole and streamed (wire.md 5)."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from http import HTTPStatus
from math import inf
from typing import Any
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from renderlayer.errors import BadGateway, GatewayTimeout, RenderLayerError, Unavailable
from renderlayer.pipeline.connections import (
    NOT_CONNECTED,
    OUT_OF_REACH,
    TOO_LATE,
    Connections,
    Response,
    Trace,
    Transport,
)
from renderlayer.pipeline.engine_answers import GENERATE, EngineError, EngineLost, NoRoute, check, decoded, events
from renderlayer.pipeline.engine_states import Outcome, begun, observe
from renderlayer.request_context import is_over, out_of_time, seconds_left
from renderlayer.secrets.secret import FRESH_SECONDS, Secret
from renderlayer.wire.common.json_text import compact
from renderlayer.wire.generate import GENERATE_PREFIX

ABORT = "/inference/v1/abort_requests"
HEALTH = "/health"
SHORT_SECONDS = 2.0
"""Longest time of a call that needs no model: health, abort."""

Json = dict[str, Any]


__all__ = ["Engine", "EngineError"]

logger = logging.getLogger(__name__)


class Engine:
    """A client of one generate service, for any number of event loops; each has a connection pool of its own.

    Args:
        url: base URL, without `/inference/v1/generate`.
        api_key: sent as a bearer token; a secret is read anew where the engine does not take what it held.
        transport: how requests travel; default: the network.
        refuse_aborted: treat whole answers that the engine ended with "abort", as it does while it is being stopped,
            as failures.
        address: the one of the URL's host that this client connects to, where it has several (default: any).

    Raises (all calls):
        EngineError: the engine answered with a client error.
        Unavailable: it is overloaded or late; try again.
        EngineLost: it is starting, stopping or out of reach; another engine may take the request.
        BadGateway: it answered something that is not the wire.
    """

    def __init__(
        self,
        url: str,
        api_key: str | Secret = "",
        transport: Transport | None = None,
        refuse_aborted: bool = False,
        address: str = "",
    ) -> None:
        self.url = url.rstrip("/")
        self._key = api_key
        self._transport = transport
        self._refuse_aborted = refuse_aborted
        self._address = address
        self._connections: WeakKeyDictionary[asyncio.AbstractEventLoop, Connections] = WeakKeyDictionary()
        self._under_way: Counter[str] = Counter()
        self._aborts: set[asyncio.Task[None]] = set()

    async def aclose(self) -> None:
        """Close the connections, also those of event loops that run in other threads."""
        here = asyncio.get_running_loop()
        await asyncio.gather(*(task for task in self._aborts if task.get_loop() is here))
        while self._connections:
            loop, connections = self._connections.popitem()
            if loop is here:
                await connections.aclose()
            elif loop.is_running():
                await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(connections.aclose(), loop))

    async def generate(self, request: Mapping[str, Any], timeout: float | None = None) -> Json:
        """One whole answer (wire.md 5.2). Cancelling the call stops the engine.

        Args:
            request: a GenerateRequest.
            timeout: seconds that the answer may take in all (default: until the engine is silent for too long).
        """
        body, end = {**request, "stream": False, "stream_options": None}, _end(timeout)
        async with self._until_answered(request), self._sent(body, end) as response, _before(end):
            answer = decoded(await response.read())
        if not isinstance(answer, dict) or not isinstance(answer.get("choices"), list):
            raise BadGateway("The engine's answer is not a generate response.")
        if self._refuse_aborted and any(_aborted(choice) for choice in answer["choices"]):
            raise BadGateway("The engine was stopped before this answer was complete.")
        return answer

    async def stream(self, request: Mapping[str, Any], timeout: float | None = None) -> AsyncGenerator[Json]:
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
            response = await self._begun("GET", HEALTH)
            await response.read()
        check(response.status, response.header(b"retry-after"), b"")

    @asynccontextmanager
    async def _sent(self, body: Json, end: float | None) -> AsyncIterator[Response]:
        """A request's answer, once its head is there and says that all is well."""
        async with _before(end):
            response = await self._begun("POST", GENERATE, compact(body))
        try:
            if response.status != HTTPStatus.OK:
                async with _before(end):
                    content = await response.read()
                check(response.status, response.header(b"retry-after"), content)
            yield response
        finally:
            await response.aclose()

    async def _begun(self, method: str, path: str, body: bytes | None = None) -> Response:
        """Send a request, to the head of its answer.

        One that is left while its connection is made is cancelled once that is done: httpcore would keep the connection
        for good, neither used nor closed.
        """
        connected = asyncio.Event()

        async def trace(event: str, info: Any) -> None:
            if event.endswith("send_request_headers.started"):
                connected.set()

        sending = asyncio.ensure_future(self._answered(method, path, body, trace))
        try:
            return await asyncio.shield(sending)
        except asyncio.CancelledError:
            self._later(_cancelled(sending, connected))
            raise

    async def _answered(
        self, method: str, path: str, body: bytes | None = None, trace: Trace | None = None
    ) -> Response:
        """Send a request with the key; one that a secret holds may have been rotated, and is read anew then."""
        connections = self._here()
        if isinstance(self._key, str):
            return await connections.send(method, path, body, self._key, trace)
        key, *_ = await asyncio.to_thread(self._key.texts, FRESH_SECONDS)
        response = await connections.send(method, path, body, key, trace)
        if response.status != HTTPStatus.UNAUTHORIZED:
            return response
        await response.read()
        key, *_ = await asyncio.to_thread(self._key.texts, 0.0)
        return await connections.send(method, path, body, key, trace)

    @asynccontextmanager
    async def _until_answered(self, request: Mapping[str, Any]) -> AsyncIterator[None]:
        """Abort the request by its id, too, if it is left before its end: a proxy may hide a closed connection.

        The id that the engine knows has its own prefix (wire.md 5.6). It aborts every request of an id, so one that is
        under way twice is left alone.
        """
        request_id = str(request.get("request_id") or "")
        self._under_way[request_id] += 1
        begun()
        outcome: Outcome = "answered"
        try:
            yield
        except EngineError:
            outcome = "refused"
            raise
        except (asyncio.CancelledError, GeneratorExit, Unavailable, GatewayTimeout) as left:
            outcome = "left"
            if isinstance(left, RenderLayerError):
                outcome = "busy"
                self._log(left)
            if request_id and self._under_way[request_id] == 1:
                self._abort_later(GENERATE_PREFIX + request_id)
            raise
        except BadGateway as fault:
            outcome = "failed"
            self._log(fault)
            raise
        finally:
            observe(outcome)
            self._under_way[request_id] -= 1
            if not self._under_way[request_id]:
                del self._under_way[request_id]

    def _log(self, fault: RenderLayerError) -> None:
        """Tell the operator what the engine did; callers are told less."""
        cause = fault.__cause__
        why = f" ({type(cause).__name__}: {cause})" if cause else ""
        hint = ""
        if isinstance(fault, NoRoute):
            slip = self.url.endswith("/v1")
            hint = f" {'Give its URL without /v1.' if slip else 'vLLM serves that path with --enable-scale-out.'}"
        logger.warning("engine %s: %s%s%s", self.name, fault.message, why, hint)

    @property
    def name(self) -> str:
        """The URL as logs and metrics show it: with the address, and without a name and a password."""
        parts = urlsplit(self.url)
        shown = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
        return f"{shown} ({self._address})" if self._address else shown

    def _abort_later(self, request_id: str) -> None:
        self._later(self._abort(request_id))

    def _later(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._aborts.add(task)
        task.add_done_callback(self._aborts.discard)

    async def _abort(self, request_id: str) -> None:
        try:
            async with _before(_end(SHORT_SECONDS)):
                response = await self._answered("POST", ABORT, compact({"request_ids": [request_id]}))
                await response.read()
        except (Unavailable, GatewayTimeout):
            return  # the connection is closed already, which is what engines go by

    def _here(self) -> Connections:
        """The connections of the running event loop."""
        loop = asyncio.get_running_loop()
        connections = self._connections.get(loop)
        if connections is None:
            connections = self._connections[loop] = Connections(self.url, self._transport, self._address)
        return connections


def _aborted(choice: Any) -> bool:
    return isinstance(choice, dict) and choice.get("finish_reason") == "abort"


async def _cancelled(sending: asyncio.Future[Response], connected: asyncio.Event) -> None:
    """Cancel a request as soon as it has a connection; close the answer that came all the same."""
    waiting = asyncio.ensure_future(connected.wait())
    await asyncio.wait((sending, waiting), return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    sending.cancel()
    with suppress(asyncio.CancelledError, TOO_LATE, *OUT_OF_REACH):
        await (await sending).aclose()


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
    except (TimeoutError, TOO_LATE) as late:
        if is_over():
            raise out_of_time() from late
        if isinstance(late, NOT_CONNECTED):
            raise EngineLost("The engine is out of reach.", retry_after=5) from late
        raise Unavailable("The engine did not answer in time.", retry_after=5) from late
    except OUT_OF_REACH as fault:
        raise EngineLost("The engine is out of reach.", retry_after=5) from fault


async def _parts(response: Response, end: float | None) -> AsyncGenerator[bytes]:
    async with aclosing(response.parts()) as parts:
        while True:
            async with _before(end):
                part = await anext(parts, None)
            if part is None:
                return
            yield part
