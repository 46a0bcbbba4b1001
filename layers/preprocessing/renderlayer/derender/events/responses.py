"""`/v1/responses/derender`: an answer of the engine becomes a Response, or the events of one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from renderlayer.derender.events.calls import chunk_answer, first_chunk, reopened, whole_answer
from renderlayer.derender.events.encoder import EventStream, EventStreamEncoder, Named, encode_stream
from renderlayer.derender.events.responses_events import ResponsesEncoder
from renderlayer.derender.events.responses_items import Head, checked_output
from renderlayer.derender.events.state import resumed
from renderlayer.derender.openai.answers import now
from renderlayer.render.responses.request import chat_request
from renderlayer.served_model import ServedModel
from renderlayer.wire.common.base import parse
from renderlayer.wire.derender import GenerateChunk
from renderlayer.wire.derender_dialects import (
    DerenderResponsesRequest,
    DerenderResponsesStreamRequest,
    ResponsesPreamble,
    parse_responses,
)

Json = dict[str, Any]
ENDPOINT = "responses"


def derender_responses(body: Any, server: ServedModel) -> Json:
    """Derender a body as it came over the wire.

    Args:
        body: the decoded JSON: a whole answer, or with `"stream": true` one event of a stream and its state; the
            request is in `responses_request`.

    Returns:
        A Response; for a stream `{"events": [{"event": name, "data": {…}}, …], "stream_state": …}`.

    Raises:
        ValidationFailed, NotFound, BadRequest: as for chat.

    Example:
        >>> answer = derender_responses({"generate_response": generated, "responses_request": request}, server)
        >>> openai.types.responses.Response.model_validate(answer).output_text
    """
    parsed = parse_responses(body)
    if isinstance(parsed, DerenderResponsesRequest):
        return _whole(parsed, server)
    return _chunk(parsed, server)


def stream_responses(events: Iterable[Any], server: ServedModel) -> Iterator[Named]:
    """Derender a whole stream that came over the wire.

    Args:
        events: a first event with the fields of a stream call that do not change (`responses_request`,
            `prompt_token_ids`, …), then the decoded events of the generate stream.

    Yields:
        {"event": name, "data": {…}}, of which the last is response.completed, .incomplete or .failed, or an error.

    Raises:
        ValidationFailed, NotFound, BadRequest: what is wrong before the first event is told.
    """
    rest = iter(events)
    return encode_stream(rest, open_responses_stream(next(rest, {}), server))


def open_responses_stream(preamble: Any, server: ServedModel) -> EventStreamEncoder:
    """Begin to derender a stream whose events come one by one; arguments and errors are those of `stream_responses`."""
    body = parse(ResponsesPreamble, preamble)
    server.check_name(body.model)
    return EventStreamEncoder(lambda chunk: response_stream(body, chunk, server))


def response_stream(body: ResponsesPreamble, chunk: GenerateChunk, server: ServedModel) -> EventStream:
    """A response that begins with this chunk; `step` tells it and the next ones."""
    request = body.responses_request
    sequence = first_chunk(body, chunk, chat_request(request), server, request.logprobs is not None)
    return EventStream(sequence, _encoder(body, chunk.request_id, now(), server), server)


def _whole(body: DerenderResponsesRequest, server: ServedModel) -> Json:
    server.check_name(body.model)
    request, answer = body.responses_request, body.generate_response
    sequence, step = whole_answer(body, answer, chat_request(request), server, request.logprobs is not None)
    encoder = _encoder(body, answer.request_id, now(), server)
    for action in step.actions:
        encoder.encode(action)
    response = encoder.response(step.finish_reason, sequence.counts)
    if sequence.sampled is not None:
        response["prefix"] = sequence.sampled.digest(server)
    return (
        response if answer.kv_transfer_params is None else {**response, "kv_transfer_params": answer.kv_transfer_params}
    )


def _chunk(body: DerenderResponsesStreamRequest, server: ServedModel) -> Json:
    server.check_name(body.model)
    request, chunk, state = body.responses_request, body.generate_chunk, body.stream_state
    resume = reopened(state, ENDPOINT, server)
    created = now() if resume is None else resume.told[0]
    going_on: Json = {"repeat": body.repeat_output}
    if resume is None or state is None:
        sequence = first_chunk(body, chunk, chat_request(request), server, request.logprobs is not None)
    else:
        sequence = resumed(resume, server)
        output = checked_output(state.output, sequence.blocks, body.repeat_output)
        going_on |= {"output": output, "index": sequence.blocks.count - 1, "memory": resume.told}
    encoder = _encoder(body, chunk.request_id, created, server, **going_on)
    stream = EventStream(sequence, encoder, server, begun=resume is not None, ended=resume is not None and resume.ended)
    answer = chunk_answer(stream, chunk, ENDPOINT)
    answer["stream_state"]["output"] = encoder.output
    return answer


def _encoder(
    body: ResponsesPreamble, answer_id: str, created: int, server: ServedModel, **going_on: Any
) -> ResponsesEncoder:
    request = body.responses_request
    model = body.model or request.model or server.names[0]
    return ResponsesEncoder(request, server, Head(answer_id, model, created), **going_on)
