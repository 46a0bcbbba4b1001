"""What the Responses and the Messages API share: one choice, told whole or as named events."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from typing import Any

from renderlayer.pipeline.engine import Engine
from renderlayer.render.server import Server

Json = dict[str, Any]


def whole(
    derender: Callable[[Any, Server], Json], field: str, body: Json, rendered: Json, server: Server, engine: Engine
) -> Json:
    """The answer to a rendered request, under the rendered request's id; `field` names the request for `derender`."""
    generated = engine.generate(rendered)
    preamble = _preamble(field, body, rendered)
    return derender({**preamble, "generate_response": _as_rendered(generated, rendered)}, server)


def streamed(
    derender: Callable[[Iterable[Any], Server], Iterator[Json]],
    field: str,
    body: Json,
    rendered: Json,
    server: Server,
    engine: Engine,
) -> Iterator[Json]:
    """The answer's events as the engine writes; closing the iterator stops the engine."""
    with closing(engine.stream(rendered)) as events:

        def given() -> Iterator[Json]:
            yield _preamble(field, body, rendered)
            for event in events:
                yield _as_rendered(event, rendered)

        yield from derender(given(), server)


def _preamble(field: str, body: Json, rendered: Json) -> Json:
    token_ids = rendered["token_ids"]
    return {"model": body.get("model"), "prompt_tokens": len(token_ids), "prompt_token_ids": token_ids, field: body}


def _as_rendered(answer: Json, rendered: Json) -> Json:
    return {**answer, "request_id": rendered["request_id"]}
