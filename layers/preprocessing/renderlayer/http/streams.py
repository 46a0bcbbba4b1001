"""Event streams in and out: a generate stream becomes an OpenAI stream in one call (wire.md 5.3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from renderlayer.derender import sse
from renderlayer.errors import RenderLayerError
from renderlayer.http.body import EVENT_STREAM, read_body
from renderlayer.http.routes import StreamWork
from renderlayer.render.server import Server


async def derendered_stream(request: Request, work: StreamWork, server: Server, named_events: bool = False) -> Response:
    """Answer an event-stream body with an event stream; `named_events` as in `Route`.

    What is wrong before the first event of the answer is an ordinary error; what goes wrong later becomes an event.
    """
    body = await read_body(request.scope, request.receive, server.settings.max_body_bytes)
    answer = work(sse.values([body]), server)
    first = await run_in_threadpool(lambda: next(answer, None))
    told = [] if first is None else [first]
    if named_events:
        return named_event_stream(told, answer)
    return event_stream(told, answer)


def event_stream(first: Iterable[Any], rest: Iterator[Any]) -> Response:
    """A streaming response of `first` and then `rest`, closed by [DONE]."""
    return StreamingResponse(_written(first, rest), media_type=EVENT_STREAM)


def named_event_stream(first: Iterable[Any], rest: Iterator[Any]) -> Response:
    """A streaming response of events that have names."""
    return StreamingResponse(_named(chain(first, rest)), media_type=EVENT_STREAM)


def _named(events: Iterable[Any]) -> Iterator[bytes]:
    return (sse.event(event["data"], event["event"]) for event in events)


def _written(first: Iterable[Any], rest: Iterator[Any]) -> Iterator[bytes]:
    for value in first:
        yield sse.event(value)
    try:
        for value in rest:
            yield sse.event(value)
    except RenderLayerError as error:
        yield sse.event(error.body())
    yield sse.DONE
