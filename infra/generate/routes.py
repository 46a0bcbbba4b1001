"""`/inference/v1/generate` and `/inference/v1/abort_requests` over HTTP (wire.md 5)."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import AsyncIterator
from typing import Any

from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from infra.generate.answer import Answer
from infra.generate.decoding.choice import Delta
from infra.generate.decoding.sampling import SamplingParams
from infra.generate.engine import Engine, Run
from infra.generate.options import Options
from renderlayer.errors import BadRequest, RenderLayerError, ValidationFailed
from renderlayer.http.api import as_starlettes
from renderlayer.http.application import described
from renderlayer.http.request import decoded, read_body, require_json
from renderlayer.http.response import EVENT_STREAM, json_response
from renderlayer.render.sampling import max_output_tokens
from renderlayer.served_model import ServedModel
from renderlayer.wire.common.base import parse
from renderlayer.wire.common.json_text import dumped, dumped_lenient
from renderlayer.wire.generate import GenerateRequest

logger = logging.getLogger(__name__)

PREFIX = "generate-tokens-"
LARGEST_BODY = 1 << 30
"""Bytes of a request: inline tensors of many images are that large."""


def add_routes(app: FastAPI, engine: Engine, options: Options) -> None:
    """Add the engine's routes to an application."""

    async def generate(request: Request) -> Response:
        require_json(request.scope)
        body = parse(GenerateRequest, decoded(await read_body(request.scope, request.receive, LARGEST_BODY)))
        params = sampling_params(body, engine.server)
        check(body, params, engine.server, options)
        base = request.headers.get("x-request-id") or body.request_id or os.urandom(8).hex()
        request_id = PREFIX + base
        answer = Answer(body, request_id, engine.server.names[0], engine.server.model)
        if body.stream:
            return StreamingResponse(events(engine, body, params, request_id, answer), media_type=EVENT_STREAM)
        run = await run_in_threadpool(engine.open, request_id, body, params)
        return as_starlettes(json_response(dumped(await whole(run, answer, request))))

    async def abort_requests(request: Request) -> Response:
        engine.abort(await aborted_ids(request))
        return Response(status_code=200)

    app.add_api_route("/inference/v1/generate", generate, methods=["POST"])
    app.add_api_route("/inference/v1/abort_requests", abort_requests, methods=["POST"])


def sampling_params(body: GenerateRequest, server: ServedModel) -> SamplingParams:
    """The request's parameters; without max_tokens the server's default applies (wire.md 5.1)."""
    given = body.sampling_params
    if "max_tokens" not in given:
        given = {**given, "max_tokens": max_output_tokens(server, len(body.token_ids), None, "max_tokens") or None}
    return SamplingParams.from_wire(given)


def check(body: GenerateRequest, params: SamplingParams, server: ServedModel, options: Options) -> None:
    """The endpoint's checks, in the reference's order (wire.md 5.1).

    Raises:
        NotFound: the model is not served here.
        BadRequest: the request asks for what this endpoint does not do.
    """
    server.check_name(body.model)
    if params.n > options.max_num_seqs:
        raise BadRequest(f"n={params.n} is more than the {options.max_num_seqs} sequences of --max-num-seqs.")
    if body.stream and params.prompt_logprob_token_ids is not None:
        raise BadRequest("prompt_logprob_token_ids is not available with stream=true.", "prompt_logprob_token_ids")
    if body.output_mode == "derender":
        raise BadRequest("This engine answers in the output modes 'tokens' and 'text'; derender with /derender.")
    if body.content_parts is not None:
        raise BadRequest("This engine takes rendered features, not content_parts.", "content_parts")


async def whole(run: Run, answer: Answer, request: Request) -> dict[str, Any]:
    """Gather every choice; a client that leaves ends the request.

    Raises:
        BadRequest: the client left, so nobody will read it.
    """
    gathering = asyncio.ensure_future(_gather(run))
    leaving = asyncio.ensure_future(_left(request))
    try:
        await asyncio.wait((gathering, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not gathering.done():
            raise BadRequest("Client disconnected")
        return answer.whole(gathering.result(), run.scores, run.ec_transfer_params)
    finally:
        gathering.cancel()
        leaving.cancel()


async def _gather(run: Run) -> list[Delta]:
    choices: dict[int, Delta] = {}
    async for delta in run.deltas():
        kept = choices.setdefault(delta.index, delta)
        if kept is not delta:
            kept.extend(delta)
    return [choices[index] for index in sorted(choices)]


async def _left(request: Request) -> None:
    """Return when the client is gone."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def events(
    engine: Engine, body: GenerateRequest, params: SamplingParams, request_id: str, answer: Answer
) -> AsyncIterator[bytes]:
    """The events of a stream. What the engine refuses is told in the stream too, as the reference does."""
    try:
        run = await run_in_threadpool(engine.open, request_id, body, params)
        async for delta in run.deltas():
            yield _event(answer.event(delta))
        closing = answer.closing()
        if closing is not None:
            yield _event(closing)
    except RenderLayerError as error:
        yield _event(error.body())
    except Exception as error:
        logger.error("%s failed: %s", request_id, described(error))
        yield _event(RenderLayerError("The server had an error while processing your request.").body())
    yield b"data: [DONE]\n\n"


def _event(value: dict[str, Any]) -> bytes:
    return b"data: " + dumped_lenient(value) + b"\n\n"


async def aborted_ids(request: Request) -> list[str]:
    """The ids of an abort request: a list, or a single one (wire.md 5.6).

    Raises:
        ValidationFailed: the body is not that.
    """
    try:
        body = json.loads(await read_body(request.scope, request.receive, LARGEST_BODY))
    except (ValueError, RecursionError) as error:
        raise ValidationFailed(f"JSON decode error: {error}") from None
    ids = body.get("request_ids") if isinstance(body, dict) else None
    if ids is None:
        raise ValidationFailed("Missing 'request_ids' in request body")
    if not isinstance(ids, (str, list)):
        raise ValidationFailed("'request_ids' must be a list of ids, or one id", param="request_ids")
    return [ids] if isinstance(ids, str) else [entry for entry in ids if isinstance(entry, str)]
