"""`/v1/chat/completions/derender`: an answer of the engine becomes a chat completion or a chunk of one (wire.md 6)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from renderlayer.derender.core import checks
from renderlayer.derender.core.detokenize import Detokenizer, continued
from renderlayer.derender.core.logprobs import TokenTexts, chat_logprobs
from renderlayer.derender.core.message import CallEncoder, finish_reason, message
from renderlayer.derender.core.options import NO_REQUEST
from renderlayer.derender.core.output import Output, OutputDecoder, whole_output
from renderlayer.derender.core.parser_session import (
    ParseContext,
    ParserSession,
    check_prompt_known,
    configured,
    reading_of,
)
from renderlayer.derender.core.sequences import ChatSequence
from renderlayer.derender.core.state import Resume, decode_stream_state, encode_stream_state
from renderlayer.derender.openai.answers import chat_answer, chat_chunk, chunk_usage, now, whole_usage
from renderlayer.errors import BadRequest
from renderlayer.served_model import ServedModel
from renderlayer.wire.derender import (
    DerenderChatRequest,
    DerenderChatStreamRequest,
    DerenderStreamState,
    GenerateChoice,
    parse_chat,
)

if TYPE_CHECKING:
    from renderlayer.wire.answers import ChatChoice, ChatCompletion, DerenderedChatChunk, StreamState

ENDPOINT = "chat"

# Fields that a parsed stream never uses: left out of every chunk's state, where their defaults would only cost bytes.
_OF_PLAIN_STREAMS = frozenset({"prev_tokens", "prefix_offset", "read_offset", "logprob_text_offset"})


def derender_chat(body: Any, server: ServedModel) -> ChatCompletion | DerenderedChatChunk:
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
    if parsed.prefix is not None:
        from renderlayer.derender.core.prefix import with_prompt

        parsed = with_prompt(parsed, server)
    if isinstance(parsed, DerenderChatRequest):
        return whole_chat(parsed, server)
    return chunk_of_chat(parsed, server)


def whole_chat(body: DerenderChatRequest, server: ServedModel) -> ChatCompletion:
    """A whole response as a chat completion (wire.md 6.5)."""
    server.check_name(body.model)
    response = body.generate_response
    checks.check_response(response, body.chat_request, server)
    checks.check_prompt(body.prompt_token_ids, server)
    prompt = response.prompt_token_ids if body.prompt_token_ids is None else body.prompt_token_ids
    reading = reading_of(body.chat_request, prompt, response.request_id, server)
    tokens = TokenTexts(server.model)
    answer = chat_answer(
        response,
        body.model or server.names[0],
        [_whole_choice(choice, reading, prompt, tokens, server) for choice in response.choices],
        whole_usage([response], body.prompt_tokens),
        reading.options.return_token_ids,
    )
    if body.chat_request is not None and body.chat_request.return_prefix:
        from renderlayer.derender.core.prefix import SampledOutput

        output = response.choices[0].token_ids if response.choices else None
        answer["prefix"] = None if output is None else SampledOutput(prompt, body.prefix, output).digest(server)
    return answer


def chunk_of_chat(body: DerenderChatStreamRequest, server: ServedModel) -> DerenderedChatChunk:
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
    if sequence.sampled is not None and any(choice["finish_reason"] for choice in answer["choices"]):
        answer["prefix"] = sequence.sampled.digest(server)
    return {"chunk": answer, "stream_state": saved(sequence, body, server)}


def _whole_choice(
    choice: GenerateChoice, reading: ParseContext, prompt: Sequence[int] | None, tokens: TokenTexts, server: ServedModel
) -> ChatChoice:
    checks.check_tokens(choice, "")
    options = reading.options
    output = whole_output(choice, prompt, options, server)
    answered = message(reading.answer(output, choice.index), options)
    logprobs = chat_logprobs(choice.logprobs, tokens, (), options.candidates) if options.include_reasoning else None
    return {
        "index": choice.index,
        "message": answered,
        "logprobs": logprobs,
        "finish_reason": finish_reason(choice.finish_reason or "stop", "tool_calls" in answered, options),
        "stop_reason": output.stop_reason,
        "token_ids": choice.token_ids if options.shows_token_ids else None,
        "routed_experts": None,
        "weight_versions": None,
    }


def resumed(body: DerenderChatStreamRequest, server: ServedModel) -> ChatSequence:
    """The sequence that a chunk continues, or begins.

    Raises:
        BadRequest: the request has stop strings, the chunk has several choices, something that the first chunk must
            bring is missing, the state is not ours, or the stream is longer than the context.
    """
    checks.check_no_stop(body.chat_request)
    state, chunk = body.stream_state or DerenderStreamState(), body.generate_chunk
    prompt = chunk.prompt_token_ids if body.prompt_token_ids is None else body.prompt_token_ids
    resume = None if state.resume is None else decode_stream_state(state.resume, ENDPOINT, server)
    if not configured(server):
        sequence = _plain(body, prompt, resume, server)
    elif resume is not None:
        sequence = _parsed(resume, server)
    else:
        sequence = _first_parsed(body, state, prompt, server)
    sequence.role_sent = state.role_sent
    sequence.called = state.tools_streamed
    sequence.context = list(state.logprob_context_token_ids)
    resumed_ids = None if resume is None else resume.sampled
    if resumed_ids is not None or (body.chat_request is not None and body.chat_request.return_prefix):
        from renderlayer.derender.core.prefix import sampled_output

        sequence.sampled = sampled_output(body.chat_request, prompt, body.prefix, resumed_ids)
    checks.check_one_choice(len(chunk.choices), "derender_chat_stream")
    checks.check_chunk(chunk, server)
    delta = sum(len(choice.token_ids or ()) for choice in chunk.choices)
    checks.check_total(sequence.total + len(state.output_token_ids), delta, server)
    if state.output_token_ids and sequence.parsing is not None:
        _replay(sequence, state.output_token_ids)
    return sequence


def saved(sequence: ChatSequence, body: DerenderChatStreamRequest, server: ServedModel) -> StreamState:
    """The state for the next chunk."""
    state = body.stream_state or DerenderStreamState()
    changes: dict[str, Any] = {
        "role_sent": sequence.role_sent,
        "tools_streamed": sequence.called,
        "logprob_context_token_ids": sequence.context,
        "resume": None,
    }
    options = sequence.options.dumped()
    sampled: dict[str, Any] = {} if sequence.sampled is None else {"sampled": sequence.sampled.memory(server)}
    if sequence.parsing is None:
        pieces, read = sequence.decoder.detokenizer.pieces()
        changes |= {"prev_tokens": pieces, "prefix_offset": 0, "read_offset": read}
        if options or sampled:
            changes["resume"] = encode_stream_state({"options": options, **sampled}, ENDPOINT, server)
    elif sequence.parsing.begun:
        window, read = sequence.decoder.detokenizer.token_ids()
        inside = {
            "options": options,
            "tokens": sequence.total,
            "window": window,
            "read": read,
            "parser": sequence.parsing.state,
            **sampled,
        }
        if open_call := sequence.calls.memory():
            inside["open_call"] = open_call
        changes |= {"output_token_ids": [], "output_chunk_lens": [], "last_tool_call_ids": []}
        changes["resume"] = encode_stream_state(inside, ENDPOINT, server)
        after = state.after(changes)
        return cast("StreamState", {name: value for name, value in after.items() if name not in _OF_PLAIN_STREAMS})
    return cast("StreamState", state.after(changes))


def _plain(
    body: DerenderChatStreamRequest, prompt: Sequence[int] | None, resume: Resume | None, server: ServedModel
) -> ChatSequence:
    options = NO_REQUEST if resume is None else resume.options
    if body.chat_request is not None:
        options = reading_of(body.chat_request, prompt, "", server).options
    detokenizer = continued(body.stream_state, options.skip_special, prompt, server.model.vocabulary)
    decoder = OutputDecoder(detokenizer, options, server)
    return ChatSequence(options, decoder, TokenTexts(server.model), total=len(prompt or ()))


def _parsed(resume: Resume, server: ServedModel) -> ChatSequence:
    if resume.parser is None or server.parser is None:
        raise BadRequest("invalid stream_state: resume lacks a parser's state")
    detokenizer = Detokenizer(server.model.vocabulary, resume.options.skip_special, resume.window, 0, resume.read)
    return ChatSequence(
        resume.options,
        OutputDecoder(detokenizer, resume.options, server),
        TokenTexts(server.model),
        ParserSession(server.parser, resume.parser, begun=True),
        resume.tokens,
        calls=CallEncoder(resume.options.custom, resume.open_call),
    )


def _first_parsed(
    body: DerenderChatStreamRequest, state: DerenderStreamState, prompt: Sequence[int] | None, server: ServedModel
) -> ChatSequence:
    index = body.generate_chunk.choices[0].index if body.generate_chunk.choices else 0
    reading = reading_of(body.chat_request, prompt, body.generate_chunk.request_id, server)
    check_prompt_known(reading, prompt)
    detokenizer = Detokenizer.after_prompt(server.model.vocabulary, reading.options.skip_special, prompt)
    decoder = OutputDecoder(detokenizer, reading.options, server)
    return ChatSequence(
        reading.options,
        decoder,
        TokenTexts(server.model),
        reading.begin(index),
        total=len(prompt or ()),
        calls=CallEncoder(reading.options.custom),
    )


def _replay(sequence: ChatSequence, token_ids: Sequence[int]) -> None:
    """Read again what a server that replays its streams has already told, and tell nothing of it."""
    assert sequence.parsing is not None
    push = sequence.decoder.detokenizer.push
    sequence.parsing.step(Output([(token_id, push(token_id)) for token_id in token_ids], None), finished=False)
    sequence.total += len(token_ids)
