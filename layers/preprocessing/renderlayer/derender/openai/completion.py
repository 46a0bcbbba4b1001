"""`/v1/completions/derender`: engine answers become a text completion, or a chunk of one (wire.md 6.8)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from renderlayer.derender.core import checks
from renderlayer.derender.core.logprobs import TokenTexts, completion_logprobs
from renderlayer.derender.core.options import NO_REQUEST, Options, completion_options
from renderlayer.derender.core.output import whole_output
from renderlayer.derender.openai.answers import (
    chunk_usage,
    completion_answer,
    completion_chunk,
    now,
    prompt_logprobs,
    whole_usage,
)
from renderlayer.derender.openai.completion_state import resumed, saved
from renderlayer.errors import BadRequest
from renderlayer.served_model import ServedModel
from renderlayer.wire.derender import (
    DerenderCompletionRequest,
    DerenderCompletionStreamRequest,
    GenerateChoice,
    GenerateResponse,
    parse_completion,
)

if TYPE_CHECKING:
    from renderlayer.wire.answers import Completion, CompletionChoice, DerenderedCompletionChunk


def derender_completion(body: Any, server: ServedModel) -> Completion | DerenderedCompletionChunk:
    """Derender a completion body as it came over the wire.

    Args:
        body: the decoded JSON: whole responses, one a prompt, or with `"stream": true` one event of a stream and its
            state.

    Returns:
        A text completion, choices numbered through; for a stream `{"chunk": …, "stream_state": …}`.

    Raises:
        ValidationFailed, NotFound, BadRequest: as wire.md 6.2 lists them.
    """
    parsed = parse_completion(body)
    if isinstance(parsed, DerenderCompletionRequest):
        return whole_completion(parsed, server)
    return chunk_of_completion(parsed, server)


def whole_completion(body: DerenderCompletionRequest, server: ServedModel) -> Completion:
    """Whole responses as one text completion."""
    server.check_name(body.model)
    _check(body, server)
    options = NO_REQUEST if body.completion_request is None else completion_options(body.completion_request)
    tokens = TokenTexts(server.model)
    choices: list[CompletionChoice] = []
    for at, response in enumerate(body.generate_responses):
        prompt = body.prompt_token_ids[at] if body.prompt_token_ids is not None else None
        prompt = response.prompt_token_ids if prompt is None else prompt
        for choice in response.choices:
            choices.append(_whole_choice(choice, response, len(choices), prompt, options, tokens, server))
    return completion_answer(
        body.generate_responses,
        body.model or server.names[0],
        choices,
        whole_usage(body.generate_responses, None if body.prompt_tokens is None else sum(body.prompt_tokens)),
    )


def chunk_of_completion(body: DerenderCompletionStreamRequest, server: ServedModel) -> DerenderedCompletionChunk:
    """One event of a stream as a text completion chunk, with the state for the next."""
    server.check_name(body.model)
    chunk = body.generate_chunk
    sequence = resumed(body, server)
    answer = completion_chunk(
        chunk,
        body.model or server.names[0],
        [sequence.step(choice, chunk.prompt_token_ids) for choice in chunk.choices],
        chunk_usage(chunk, body.prompt_tokens),
        now(),
    )
    return {"chunk": answer, "stream_state": saved(sequence, body, server)}


def _check(body: DerenderCompletionRequest, server: ServedModel) -> None:
    responses = body.generate_responses
    if not responses:
        raise BadRequest("generate_responses must not be empty")
    checks.check_count("generate_responses", len(responses), server)
    for response in responses:
        checks.check_response(response, body.completion_request, server)
    for token_ids in body.prompt_token_ids or ():
        checks.check_prompt(token_ids, server)


def _whole_choice(
    choice: GenerateChoice,
    response: GenerateResponse,
    index: int,
    prompt: list[int] | None,
    options: Options,
    tokens: TokenTexts,
    server: ServedModel,
) -> CompletionChoice:
    checks.check_tokens(choice, f" in response {response.request_id}")
    output = whole_output(choice, prompt, options, server)
    return {
        "index": index,
        "text": output.text,
        "logprobs": completion_logprobs(choice.logprobs, tokens, (), options.candidates, 0),
        "finish_reason": choice.finish_reason,
        "stop_reason": output.stop_reason,
        "token_ids": choice.token_ids if options.return_token_ids else None,
        "prompt_logprobs": prompt_logprobs(response),
        "prompt_token_ids": response.prompt_token_ids if options.return_token_ids else None,
        "routed_experts": None,
        "weight_versions": None,
    }
