"""The front door: OpenAI endpoints that chain render, generate and derender."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from renderlayer.http.body import decoded, dumped, json_response, read_body, require_json
from renderlayer.http.counts import count_tokens
from renderlayer.http.streams import event_stream
from renderlayer.pipeline import complete_chat, complete_completion
from renderlayer.pipeline.engine import Engine
from renderlayer.render.server import Server

# (decoded body, server, engine, X-Request-Id header) -> answer, or its chunks
Complete = Callable[[Any, Server, Engine, str | None], dict[str, Any] | Iterator[dict[str, Any]]]

PATHS: dict[str, Complete] = {
    "/v1/chat/completions": complete_chat,
    "/v1/completions": complete_completion,
}


def add_complete_routes(app: FastAPI, server: Server, engine: Engine) -> None:
    """Serve the front door from `app`; answers come from `engine`."""
    for path, complete in PATHS.items():
        app.add_api_route(path, _endpoint(complete, server, engine), methods=["POST"])


def _endpoint(complete: Complete, server: Server, engine: Engine) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        require_json(request)
        body = await read_body(request, server.settings.max_body_bytes)
        header_id = request.headers.get("x-request-id")
        answer = await run_in_threadpool(lambda: _first(complete(decoded(body), server, engine, header_id)))
        if isinstance(answer, dict):
            count_tokens(request.scope, answer)
            return json_response(dumped(answer))
        return event_stream(*answer)

    return endpoint


def _first(
    answer: dict[str, Any] | Iterator[dict[str, Any]],
) -> dict[str, Any] | tuple[list[dict[str, Any]], Iterator[dict[str, Any]]]:
    """Wait for the first chunk of a stream, so that what fails before it is an ordinary error."""
    if isinstance(answer, dict):
        return answer
    first = next(answer, None)
    return ([] if first is None else [first]), answer
