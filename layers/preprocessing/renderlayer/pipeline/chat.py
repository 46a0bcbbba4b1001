"""`/v1/chat/completions`: render → generate → derender in one call, whole or streamed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

from renderlayer.derender import ChatStream, derender_chat
from renderlayer.pipeline.engine import Engine
from renderlayer.render.chat import render_chat
from renderlayer.render.server import Server
from renderlayer.wire._base import parse
from renderlayer.wire.chat import ChatCompletionRequest

Json = dict[str, Any]


def complete_chat(body: Any, server: Server, engine: Engine, header_id: str | None = None) -> Json | Iterator[Json]:
    """Answer a chat request.

    Args:
        body: the decoded JSON body.
        header_id: value of the X-Request-Id header.

    Returns:
        A chat completion; for `"stream": true` its chunks, which come as the engine writes. Closing the iterator
        stops the engine.

    Raises:
        ValidationFailed, BadRequest, NotFound, Unprocessable: as rendering does.
        EngineError, Unavailable, BadGateway: as the engine's client does; while streaming from the iterator.
    """
    request = parse(ChatCompletionRequest, body)
    rendered = render_chat(request, server, header_id)
    if request.stream:
        return _chunks(request, rendered, server, engine)
    answer = derender_chat(
        {
            "model": request.model,
            "generate_response": engine.generate(rendered),
            "prompt_tokens": len(rendered["token_ids"]),
            "prompt_token_ids": rendered["token_ids"],
            "chat_request": body,
        },
        server,
    )
    return {**answer, "id": rendered["request_id"]}


def _chunks(request: ChatCompletionRequest, rendered: Json, server: Server, engine: Engine) -> Iterator[Json]:
    token_ids = rendered["token_ids"]
    stream = ChatStream(server, request, model=request.model, prompt_token_ids=token_ids, prompt_tokens=len(token_ids))
    with closing(engine.stream(rendered)) as events:
        for event in events:
            chunk = stream.step(event)
            if chunk is not None:
                yield {**chunk, "id": rendered["request_id"]}
