"""Event streams in and out: a generate stream becomes an OpenAI stream in one call (wire.md 5.3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Scope

from renderlayer.derender import sse
from renderlayer.errors import RenderLayerError
from renderlayer.http.body import EVENT_STREAM, read_body
from renderlayer.http.routes import StreamWork
from renderlayer.http.threads import aside, collected
from renderlayer.render.server import Server


async def derendered_stream(request: Request, work: StreamWork, server: Server, named_events: bool = False) -> Response:
    """Answer an event-stream body with an event stream; `named_events` as in `Route`.

    What is wrong before the first event of the answer is an ordinary error; what goes wrong later becomes an event.
    """
    body = await read_body(request.scope, request.receive, server.settings.max_body_bytes)
    answer = work(sse.values([body]), server)
    first = await aside(request.scope, lambda: next(answer, None))
    return event_stream(request.scope, [] if first is None else [first], answer, named=named_events)


def event_stream(scope: Scope, first: Iterable[Any], rest: Iterator[Any], named: bool = False) -> Response:
    """A response of `first` and then `rest`, as events under their names, or as plain ones closed by [DONE].

    A server sends each event when it is there. A function's answer is collected anyway.

    Raises:
        BadRequest: JSON cannot hold one of the first events.
    """
    write = _named if named else sse.event
    parts = chain([write(value) for value in first], map(_named, rest) if named else _until_done(rest))
    if collected(scope):
        return Response(b"".join(parts), media_type=EVENT_STREAM)
    return StreamingResponse(parts, media_type=EVENT_STREAM)


def _named(event: Any) -> bytes:
    return sse.event(event["data"], event["event"])


def _until_done(values: Iterator[Any]) -> Iterator[bytes]:
    try:
        for value in values:
            yield sse.event(value)
    except RenderLayerError as error:
        yield sse.event(error.body())
    yield sse.DONE
