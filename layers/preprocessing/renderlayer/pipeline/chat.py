"""`/v1/chat/completions`: render → generate → derender in one call, whole or streamed."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Any, NoReturn

from renderlayer.derender import ChatStream, derender_chat
from renderlayer.errors import RenderLayerError
from renderlayer.pipeline.pending import Json, Service, complete
from renderlayer.render.chat import render_chat
from renderlayer.served_model import ServedModel
from renderlayer.wire.chat import ChatCompletionRequest
from renderlayer.wire.common.base import parse


async def complete_chat(
    body: Any, server: ServedModel, engine: Service, header_id: str | None = None, timeout: float | None = None
) -> Json | AsyncGenerator[Json]:
    """Answer a chat request.

    Args:
        body: the decoded JSON body.
        header_id: value of the X-Request-Id header.
        timeout: seconds that the engine may take in all.

    Returns:
        A chat completion; for `"stream": true` its chunks, which come as the engine writes. Closing the iterator, and
        cancelling the call, stops the engine.

    Raises:
        ValidationFailed, BadRequest, NotFound, Unprocessable: as rendering does.
        EngineError, Unavailable, BadGateway: as the engine's client does; while streaming from the iterator.
    """
    return await complete(PendingChat(body, server, header_id), engine, timeout)


class PendingChat:
    """A chat request, rendered; arguments and errors are those of `complete_chat`."""

    def __init__(self, body: Any, server: ServedModel, header_id: str | None = None) -> None:
        self._body = body
        self._server = server
        self._request = parse(ChatCompletionRequest, body)
        self.prompts = [render_chat(self._request, server.front_door, header_id)]
        self.stream = bool(self._request.stream)
        self._id = {"id": self.prompts[0]["request_id"]}
        told = self.prompts[0].pop("continuation", None)
        self._told: Json = {} if told is None else {"continuation": told}
        self._prompt = self.prompts[0]["token_ids"]
        self._stream: ChatStream | None = None

    def whole(self, generated: Sequence[Json]) -> Json:
        answer = derender_chat(
            {
                "model": self._request.model,
                "generate_response": generated[0],
                "prompt_tokens": len(self._prompt),
                "prompt_token_ids": self._prompt,
                "chat_request": self._body,
            },
            self._server,
        )
        return {**answer, **self._id, **self._told}

    def step(self, prompt: int, event: Json) -> list[Json]:
        if self._stream is None:
            self._stream = ChatStream(
                self._server,
                self._request,
                model=self._request.model,
                prompt_token_ids=self._prompt,
                prompt_tokens=len(self._prompt),
            )
        chunk = self._stream.step(event)
        if chunk is None:
            return []
        told, self._told = self._told, {}  # once, with the first chunk
        return [{**_without_null_call_fields(chunk), **self._id, **told}]

    def end(self) -> list[Json]:
        return []

    def failed(self, error: RenderLayerError) -> NoReturn:
        raise error


def _without_null_call_fields(chunk: Json) -> Json:
    """The chunk, its calls without fields that are null: clients would take a later `"type": null` for the type."""
    for choice in chunk["choices"]:
        for call in choice["delta"].get("tool_calls") or ():
            for fields in (call, call.get("function") or call.get("custom") or {}):
                for name in [name for name, value in fields.items() if value is None]:
                    del fields[name]
    return chunk
