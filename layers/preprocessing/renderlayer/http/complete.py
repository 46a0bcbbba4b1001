"""The front door: OpenAI endpoints that chain render, generate and derender."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from renderlayer.http.application import Endpoint
from renderlayer.http.body import decoded, header, json_response, read_body, require_json
from renderlayer.http.counts import count_tokens
from renderlayer.http.streams import event_stream
from renderlayer.http.threads import aside
from renderlayer.pipeline import complete_chat, complete_completion
from renderlayer.pipeline.engine import Engine
from renderlayer.pipeline.messages import complete_messages
from renderlayer.pipeline.responses import complete_responses
from renderlayer.render.server import Server
from renderlayer.wire._json import dumped

# (decoded body, server, engine, X-Request-Id header) -> answer, or its chunks
Complete = Callable[[Any, Server, Engine, str | None], dict[str, Any] | Iterator[dict[str, Any]]]


@dataclass(frozen=True)
class FrontDoor:
    """One endpoint; `named_events`: its stream's values are {"event": name, "data": …}, and no [DONE] follows them."""

    complete: Complete
    named_events: bool = False


PATHS: dict[str, FrontDoor] = {
    "/v1/chat/completions": FrontDoor(complete_chat),
    "/v1/completions": FrontDoor(complete_completion),
    "/v1/responses": FrontDoor(complete_responses, named_events=True),
    "/v1/messages": FrontDoor(complete_messages, named_events=True),
}


def complete_endpoints(server: Server, engine: Engine) -> dict[str, Endpoint]:
    """The front door, by path; answers come from `engine`."""
    return {path: _endpoint(door, server, engine) for path, door in PATHS.items()}


def _endpoint(door: FrontDoor, server: Server, engine: Engine) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        require_json(request.scope)
        body = await read_body(request.scope, request.receive, server.settings.max_body_bytes)
        header_id = header(request.scope, b"x-request-id")
        answer = await aside(request.scope, lambda: _first(door.complete(decoded(body), server, engine, header_id)))
        if isinstance(answer, dict):
            count_tokens(request.scope, answer)
            return json_response(dumped(answer))
        return event_stream(request.scope, *answer, named=door.named_events)

    return endpoint


def _first(
    answer: dict[str, Any] | Iterator[dict[str, Any]],
) -> dict[str, Any] | tuple[list[dict[str, Any]], Iterator[dict[str, Any]]]:
    """Wait for the first chunk of a stream, so that what fails before it is an ordinary error."""
    if isinstance(answer, dict):
        return answer
    first = next(answer, None)
    return ([] if first is None else [first]), answer
