"""`/v1/completions`: every prompt through render → generate → derender, whole or streamed."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from queue import SimpleQueue
from threading import Event
from typing import Any

from renderlayer.derender import CompletionStream, derender_completion
from renderlayer.errors import RenderLayerError
from renderlayer.pipeline.engine import Engine
from renderlayer.render.completion import render_completion
from renderlayer.render.server import Server
from renderlayer.wire._base import parse
from renderlayer.wire.completion import CompletionRequest

Json = dict[str, Any]
CONCURRENCY = 16
"""Prompts of one request that are with the engine at a time."""


def complete_completion(
    body: Any, server: Server, engine: Engine, header_id: str | None = None
) -> Json | Iterator[Json]:
    """Answer a completion request; arguments, result and errors as for `complete_chat`."""
    request = parse(CompletionRequest, body)
    rendered = render_completion(request, server, header_id)
    shown_id = _stem(rendered)
    if request.stream:
        return ({**chunk, "id": shown_id} for chunk in _chunks(request, rendered, server, engine))
    with ThreadPoolExecutor(min(CONCURRENCY, len(rendered)), thread_name_prefix="prompt") as pool:
        responses = list(pool.map(engine.generate, rendered))
    answer = derender_completion(
        {
            "model": request.model,
            "generate_responses": responses,
            "prompt_tokens": [len(prompt["token_ids"]) for prompt in rendered],
            "prompt_token_ids": [prompt["token_ids"] for prompt in rendered],
            "completion_request": body,
        },
        server,
    )
    return {**answer, "id": shown_id}


def _stem(rendered: list[Json]) -> str:
    """The id of the whole answer: that of its prompts, without their number."""
    first: str = rendered[0]["request_id"]
    return first if len(rendered) == 1 else first.rpartition("-")[0]


def _chunks(request: CompletionRequest, rendered: list[Json], server: Server, engine: Engine) -> Iterator[Json]:
    """Chunks of all prompts as they come; a prompt's choices are numbered behind those of the prompts before it.

    Each prompt's closing usage is added up into one, which closes the whole.
    """
    streams = [
        _of_prompt(request, prompt, number * request.n, server, engine) for number, prompt in enumerate(rendered)
    ]
    if len(streams) == 1:
        yield from streams[0]
        return
    closing_chunk: Json | None = None
    with closing(_merged(streams)) as chunks:
        for chunk in chunks:
            if chunk["choices"]:
                yield chunk
            else:
                closing_chunk = _summed(closing_chunk, chunk)
    if closing_chunk is not None:
        yield closing_chunk


def _summed(before: Json | None, chunk: Json) -> Json:
    if before is None:
        return chunk
    counts = ("prompt_tokens", "total_tokens", "completion_tokens")
    usage = {**chunk["usage"], **{name: before["usage"][name] + chunk["usage"][name] for name in counts}}
    return {**chunk, "usage": usage}


def _merged(streams: Sequence[Generator[Json]]) -> Generator[Json]:
    """Items of several generators as they come, each read by a thread of its own; the first error ends them all."""
    arrived: SimpleQueue[Json | RenderLayerError | None] = SimpleQueue()
    stopped = Event()

    def read(stream: Generator[Json]) -> None:
        try:
            with closing(stream):
                for item in stream:
                    arrived.put(item)
                    if stopped.is_set():
                        return
            arrived.put(None)
        except RenderLayerError as error:
            arrived.put(error)

    pool = ThreadPoolExecutor(min(CONCURRENCY, len(streams)), thread_name_prefix="prompt")
    for stream in streams:
        pool.submit(read, stream)
    try:
        unfinished = len(streams)
        while unfinished:
            item = arrived.get()
            if isinstance(item, RenderLayerError):
                raise item
            if item is None:
                unfinished -= 1
            else:
                yield item
    finally:
        stopped.set()
        pool.shutdown(wait=False, cancel_futures=True)


def _of_prompt(
    request: CompletionRequest, rendered: Json, first_index: int, server: Server, engine: Engine
) -> Generator[Json]:
    token_ids = rendered["token_ids"]
    stream = CompletionStream(
        server,
        request,
        model=request.model,
        prompt_token_ids=token_ids,
        prompt_tokens=len(token_ids),
        first_index=first_index,
    )
    with closing(engine.stream(rendered)) as events:
        for event in events:
            chunk = stream.step(event)
            if chunk is not None:
                yield chunk
