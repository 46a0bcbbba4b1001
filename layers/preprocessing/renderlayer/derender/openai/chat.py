"""`/v1/chat/completions/derender`: an answer of the engine becomes a chat completion or a chunk of one (wire.md 6)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from renderlayer.derender.core import checks
from renderlayer.derender.core.logprobs import TokenTexts, chat_logprobs
from renderlayer.derender.core.message import finish_reason, message
from renderlayer.derender.core.output import whole_output
from renderlayer.derender.core.parser_session import ParseContext, reading_of
from renderlayer.derender.openai.answers import Json, chat_answer, chat_chunk, chunk_usage, now, whole_usage
from renderlayer.derender.openai.chat_state import resumed, saved
from renderlayer.served_model import ServedModel
from renderlayer.wire.derender import (
    DerenderChatRequest,
    DerenderChatStreamRequest,
    GenerateChoice,
    parse_chat,
)


def derender_chat(body: Any, server: ServedModel) -> Json:
    """Derender a chat body as it came over the wire.

    Args:
        body: the decoded JSON: a whole response, or with `"stream": true` one event of a stream and its state.

    Returns:
        A chat completion; for a stream `{"chunk": …, "stream_state": …}`, where the state goes into the next call.

    Raises:
        ValidationFailed, NotFound, BadRequest: as wire.md 6.2 lists them.

    Example:
        >>> answer = derender_chat({"generate_response": generated, "chat_request": request}, server)
        >>> answer["choices"][0]["message"]["content"]
    """
    parsed = parse_chat(body)
    if isinstance(parsed, DerenderChatRequest):
        return whole_chat(parsed, server)
    return chunk_of_chat(parsed, server)


def whole_chat(body: DerenderChatRequest, server: ServedModel) -> Json:
    """A whole response as a chat completion (wire.md 6.5)."""
    server.check_name(body.model)
    response = body.generate_response
    checks.check_response(response, body.chat_request, server)
    checks.check_prompt(body.prompt_token_ids, server)
    prompt = response.prompt_token_ids if body.prompt_token_ids is None else body.prompt_token_ids
    reading = reading_of(body.chat_request, prompt, response.request_id, server)
    tokens = TokenTexts(server.model)
    return chat_answer(
        response,
        body.model or server.names[0],
        [_whole_choice(choice, reading, prompt, tokens, server) for choice in response.choices],
        whole_usage([response], body.prompt_tokens),
        reading.options.return_token_ids,
    )


def chunk_of_chat(body: DerenderChatStreamRequest, server: ServedModel) -> Json:
    """One event of a stream as a chat completion chunk, with the state for the next (wire.md 6.6, 6.7)."""
    server.check_name(body.model)
    chunk = body.generate_chunk
    sequence = resumed(body, server)
    answer = chat_chunk(
        chunk,
        body.model or server.names[0],
        [sequence.step(choice) for choice in chunk.choices],
        chunk_usage(chunk, body.prompt_tokens),
        sequence.options.return_token_ids,
        now(),
    )
    return {"chunk": answer, "stream_state": saved(sequence, body, server)}


def _whole_choice(
    choice: GenerateChoice, reading: ParseContext, prompt: Sequence[int] | None, tokens: TokenTexts, server: ServedModel
) -> Json:
    checks.check_tokens(choice, "")
    options = reading.options
    output = whole_output(choice, prompt, options, server)
    told = message(reading.answer(output, choice.index), options)
    logprobs = chat_logprobs(choice.logprobs, tokens, (), options.candidates) if options.include_reasoning else None
    return {
        "index": choice.index,
        "message": told,
        "logprobs": logprobs,
        "finish_reason": finish_reason(choice.finish_reason or "stop", "tool_calls" in told, options),
        "stop_reason": output.stop_reason,
        "token_ids": choice.token_ids if options.shows_token_ids else None,
        "routed_experts": None,
        "weight_versions": None,
    }
