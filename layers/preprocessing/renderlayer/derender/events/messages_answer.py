"""`/v1/messages/derender`: an answer of the engine becomes an Anthropic Message, or the events of one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from renderlayer.derender.events.blocks import Kind
from renderlayer.derender.events.calls import chunk_answer, first_chunk, reopened, whole_answer
from renderlayer.derender.events.encoder import EventStream, EventStreamEncoder, Named, encode_stream
from renderlayer.derender.events.messages_events import MessagesEncoder, content_of, message, stop, usage
from renderlayer.derender.events.state import resumed
from renderlayer.errors import BadRequest
from renderlayer.render.messages.request import chat_request
from renderlayer.served_model import ServedModel
from renderlayer.wire.common.base import parse
from renderlayer.wire.derender import GenerateChunk
from renderlayer.wire.derender_dialects import (
    DerenderMessagesRequest,
    DerenderMessagesStreamRequest,
    MessagesPreamble,
    Preamble,
    parse_messages,
)
from renderlayer.wire.generate import GENERATE_PREFIX
from renderlayer.wire.messages import MessagesRequest

Json = dict[str, Any]
ENDPOINT = "messages"
_CHAT_PREFIX, _ID = "chatcmpl-", "msg_"
_BLOCK_TYPES: dict[Kind, str] = {"": "", "text": "text", "reasoning": "thinking", "call": "tool_use"}


def derender_messages(body: Any, server: ServedModel) -> Json:
    """Derender a body as it came over the wire.

    Args:
        body: the decoded JSON: a whole answer, or with `"stream": true` one event of a stream and its state; the
            request is in `messages_request`.

    Returns:
        A Message; for a stream `{"events": [{"event": name, "data": {…}}, …], "stream_state": …}`.

    Raises:
        ValidationFailed, NotFound, BadRequest: as for chat.

    Example:
        >>> answer = derender_messages({"generate_response": generated, "messages_request": request}, server)
        >>> anthropic.types.Message.model_validate(answer).content[0].text
    """
    parsed = parse_messages(body)
    if isinstance(parsed, DerenderMessagesRequest):
        return _whole(parsed, server)
    return _chunk(parsed, server)


def stream_messages(events: Iterable[Any], server: ServedModel) -> Iterator[Named]:
    """Derender a whole stream that came over the wire.

    Args:
        events: a first event with the fields of a stream call that do not change (`messages_request`,
            `prompt_token_ids`, …), then the decoded events of the generate stream.

    Yields:
        {"event": name, "data": {…}}, of which the last is message_stop, or an error.

    Raises:
        ValidationFailed, NotFound, BadRequest: what is wrong before the first event is told.
    """
    rest = iter(events)
    return encode_stream(rest, open_messages_stream(next(rest, {}), server))


def open_messages_stream(preamble: Any, server: ServedModel) -> EventStreamEncoder:
    """Begin to derender a stream whose events come one by one; arguments and errors are those of `stream_messages`."""
    body = parse(MessagesPreamble, preamble)
    server.check_name(body.model)
    return EventStreamEncoder(lambda chunk: message_stream(body, chunk, server))


def message_stream(body: MessagesPreamble, chunk: GenerateChunk, server: ServedModel) -> EventStream:
    """A message that begins with this chunk; `step` tells it and the next ones."""
    request = body.messages_request
    sequence = first_chunk(body, chunk, chat_request(request, server), server)
    return EventStream(sequence, MessagesEncoder(*_head(body, request, chunk.request_id, server)), server)


def _whole(body: DerenderMessagesRequest, server: ServedModel) -> Json:
    server.check_name(body.model)
    request, answer = body.messages_request, body.generate_response
    sequence, step = whole_answer(body, answer, chat_request(request, server), server)
    head = _head(body, request, answer.request_id, server)
    whole = message(*head, content_of(step.actions), *stop(step, sequence.blocks.called), usage(sequence.counts))
    if sequence.sampled is not None:
        whole["prefix"] = sequence.sampled.digest(server)
    return whole if answer.kv_transfer_params is None else {**whole, "kv_transfer_params": answer.kv_transfer_params}


def _chunk(body: DerenderMessagesStreamRequest, server: ServedModel) -> Json:
    server.check_name(body.model)
    request, chunk = body.messages_request, body.generate_chunk
    resume = reopened(body.stream_state, ENDPOINT, server)
    head = _head(body, request, chunk.request_id, server)
    if resume is not None:
        sequence = resumed(resume, server)
        blocks = sequence.blocks
        encoder = MessagesEncoder(*head, blocks.count - 1, _BLOCK_TYPES[blocks.kind])
        stream = EventStream(sequence, encoder, server, begun=True, ended=resume.ended)
        return chunk_answer(stream, chunk, ENDPOINT)
    if request is None:
        raise BadRequest("messages_request is required with the first chunk of a stream.", "messages_request")
    sequence = first_chunk(body, chunk, chat_request(request, server), server)
    return chunk_answer(EventStream(sequence, MessagesEncoder(*head), server), chunk, ENDPOINT)


def _head(body: Preamble, request: MessagesRequest | None, answer_id: str, server: ServedModel) -> tuple[str, str]:
    """The message's id and the name of its model."""
    stem = answer_id.removeprefix(GENERATE_PREFIX).removeprefix(_CHAT_PREFIX).removeprefix(_ID)
    return _ID + stem, body.model or (request.model if request else "") or server.names[0]
