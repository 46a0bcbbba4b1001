"""The three calls of an event-telling API: a whole answer, one event of a stream, a whole stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from renderlayer.derender.core import checks
from renderlayer.derender.core.state import encode_stream_state, unseal_as
from renderlayer.derender.events.encoder import EventStream, cached_tokens, prompt_length
from renderlayer.derender.events.sequence import EventSequence, Step
from renderlayer.derender.events.state import EventResume, first, remembered
from renderlayer.errors import BadRequest
from renderlayer.served_model import ServedModel
from renderlayer.wire.chat import ChatCompletionRequest
from renderlayer.wire.derender import GenerateChunk, GenerateResponse
from renderlayer.wire.derender_dialects import EventStreamState, Preamble

if TYPE_CHECKING:
    from renderlayer.derender.core.prefix import SampledOutput

Json = dict[str, Any]


def whole_answer(
    body: Preamble,
    response: GenerateResponse,
    chat: ChatCompletionRequest,
    server: ServedModel,
    with_logprobs: bool = False,
) -> tuple[EventSequence, Step]:
    """Read a whole answer.

    Args:
        chat: the body's request as a chat request.

    Raises:
        BadRequest: there is not exactly one choice, or it is larger than the model can make it.
    """
    checks.check_response(response, chat, server)
    checks.check_prompt(body.prompt_token_ids, server)
    if len(response.choices) != 1:
        raise BadRequest(f"An answer has one choice (got {len(response.choices)}).")
    choice = response.choices[0]
    checks.check_tokens(choice, "")
    sequence = _begun(body, response, chat, server, with_logprobs, whole=True)
    if choice.finish_reason is None:
        choice = choice.model_copy(update={"finish_reason": "stop"})
    return sequence, sequence.step(choice)


def first_chunk(
    body: Preamble, chunk: GenerateChunk, chat: ChatCompletionRequest, server: ServedModel, with_logprobs: bool = False
) -> EventSequence:
    """Begin to read an answer with its first chunk.

    Raises:
        BadRequest: a parser is configured, and nothing tells the prompt.
    """
    checks.check_prompt(body.prompt_token_ids, server)
    return _begun(body, chunk, chat, server, with_logprobs, whole=False)


def reopened(state: EventStreamState | None, endpoint: str, server: ServedModel) -> EventResume | None:
    """What a chunk's state says; None for the first chunk.

    Raises:
        BadRequest: the state is not ours, or its output does not fit the blocks that have been told.
    """
    return None if state is None else unseal_as(EventResume, state.resume, endpoint, server)


def chunk_answer(stream: EventStream, chunk: GenerateChunk, endpoint: str) -> Json:
    """The events of a chunk, and the state for the next."""
    events = stream.step(chunk)
    inside = {**remembered(stream.sequence, stream.server), "ended": stream.ended, "told": stream.encoder.memory()}
    return {"events": events, "stream_state": {"resume": encode_stream_state(inside, endpoint, stream.server)}}


def _begun(
    body: Preamble,
    answer: GenerateResponse | GenerateChunk,
    chat: ChatCompletionRequest,
    server: ServedModel,
    with_logprobs: bool,
    whole: bool,
) -> EventSequence:
    prompt = answer.prompt_token_ids if body.prompt_token_ids is None else body.prompt_token_ids
    sampled: SampledOutput | None = None
    if body.prefix is not None or chat.return_prefix:
        from renderlayer.derender.core.prefix import sampled_output, with_prompt

        prompt = with_prompt(body, server).prompt_token_ids or prompt
        sampled = sampled_output(chat, prompt, body.prefix)
    sequence = first(
        chat,
        prompt,
        prompt_length(body.prompt_tokens, answer.usage, prompt),
        answer.request_id,
        server,
        with_logprobs=with_logprobs,
        whole=whole,
    )
    sequence.counts.cached = cached_tokens(answer.usage)
    sequence.sampled = sampled
    return sequence
