"""Event streams in and out: a generate stream becomes an OpenAI stream in one call (wire.md 5.3)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping
from contextlib import aclosing
from functools import partial
from itertools import islice
from typing import Any

from starlette.types import Receive, Scope, Send

from renderlayer.derender.core import sse
from renderlayer.errors import RenderLayerError
from renderlayer.http.execution.disconnect import Disconnected, while_connected
from renderlayer.http.execution.work import in_function, in_thread, note_left
from renderlayer.http.request import read_body
from renderlayer.http.response import EVENT_STREAM, Response, content_type
from renderlayer.served_model import ServedModel

Json = dict[str, Any]
# (decoded events of the body, server) -> events of the answer
StreamWork = Callable[[Iterable[Any], ServedModel], Iterator[Any]]
AT_A_TIME = 32
"""Events of a body that are derendered in one turn of a worker thread."""


class EventStream(Response):
    """Sends events as they come, and closes where they come from: when they end, fail, or the client leaves.

    Args:
        first: events that are there already.
        rest: those that follow.
        named: whether they are {"event": name, "data": …}; else they are plain ones, and [DONE] follows them.
        ended: called in the end, whatever it was.

    Raises:
        BadRequest: JSON cannot hold one of the first events.
    """

    def __init__(
        self,
        first: list[Json],
        rest: AsyncGenerator[Json],
        named: bool = False,
        ended: Callable[[], None] = lambda: None,
    ) -> None:
        self._write = _named if named else sse.event
        self._first = [self._write(event) for event in first]
        self._rest = rest
        self._last = b"" if named else sse.DONE
        self._ended = ended
        self.status_code = 200
        self.headers = content_type(EVENT_STREAM)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            async with aclosing(self._rest):
                await while_connected(receive, self._send(send))
        except Disconnected:
            note_left(scope)
        finally:
            self._ended()

    async def _send(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        for part in self._first:
            await send({"type": "http.response.body", "body": part, "more_body": True})
        try:
            async with aclosing(self._rest):
                async for event in self._rest:
                    await send({"type": "http.response.body", "body": self._write(event), "more_body": True})
        except RenderLayerError as error:
            await send({"type": "http.response.body", "body": sse.event(error.body()), "more_body": True})
        await send({"type": "http.response.body", "body": self._last})


async def derendered_stream(
    scope: Scope, receive: Receive, work: StreamWork, server: ServedModel, named_events: bool = False
) -> Response:
    """Answer an event-stream body with an event stream; `named_events` as in `Route`.

    What is wrong before the first event of the answer is an ordinary error; what goes wrong later becomes an event.
    """
    body = await read_body(scope, receive, server.settings.max_body_bytes)
    answer = work(sse.values([body]), server)
    if in_function(scope):  # whose answer is collected anyway
        return Response(_collected(answer, named_events), media_type=EVENT_STREAM)
    first, error = await in_thread(partial(_take, answer, 1))
    if error is not None:
        raise error
    return EventStream(first, _by_turns(answer), named_events)


async def _by_turns(answer: Iterator[Json]) -> AsyncGenerator[Json]:
    """Events that cost processor time, some in each turn of a worker thread; an error follows those before it."""
    while True:
        taken, error = await in_thread(partial(_take, answer))
        for event in taken:
            yield event
        if error is not None:
            raise error
        if not taken:
            return


def _take(answer: Iterator[Json], most: int = AT_A_TIME) -> tuple[list[Json], RenderLayerError | None]:
    taken: list[Json] = []
    try:
        taken.extend(islice(answer, most))
    except RenderLayerError as error:
        return taken, error
    return taken, None


def _collected(events: Iterator[Json], named: bool) -> bytes:
    write = _named if named else sse.event
    parts = [write(event) for event in islice(events, 1)]
    try:
        parts.extend(write(event) for event in events)
    except RenderLayerError as error:
        parts.append(sse.event(error.body()))
    return b"".join([*parts, b"" if named else sse.DONE])


def _named(event: Mapping[str, Any]) -> bytes:
    return sse.event(event["data"], event["event"])
