"""The OpenAI envelopes around choices, keys in the reference's order (wire.md 6.5 to 6.8)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from renderlayer.derender.core.logprobs import finite
from renderlayer.wire.derender import GenerateChunk, GenerateResponse, GenerateUsage, PromptLogprob

if TYPE_CHECKING:
    from renderlayer.wire.answers import (
        ChatChoice,
        ChatChunk,
        ChatChunkChoice,
        ChatCompletion,
        Completion,
        CompletionChoice,
        CompletionChunk,
        Usage,
    )

Json = dict[str, Any]


def chat_answer(
    response: GenerateResponse, model: str, choices: list[ChatChoice], usage: Usage, with_prompt: bool
) -> ChatCompletion:
    """A whole chat completion."""
    return {
        "id": response.request_id,
        "object": "chat.completion",
        "created": now(),
        "model": model,
        "choices": choices,
        "service_tier": None,
        "system_fingerprint": None,
        "usage": usage,
        "prompt_logprobs": prompt_logprobs(response),
        "prompt_token_ids": response.prompt_token_ids if with_prompt else None,
        "prompt_text": None,
        "kv_transfer_params": response.kv_transfer_params,
        "ec_transfer_params": response.ec_transfer_params,
        "metrics": response.metrics,
    }


def completion_answer(
    responses: Sequence[GenerateResponse], model: str, choices: list[CompletionChoice], usage: Usage
) -> Completion:
    """A whole text completion; transfer parameters only when all responses agree, metrics only from a single one."""
    return {
        "id": responses[0].request_id,
        "object": "text_completion",
        "created": now(),
        "model": model,
        "choices": choices,
        "service_tier": None,
        "system_fingerprint": None,
        "usage": usage,
        "kv_transfer_params": _common([response.kv_transfer_params for response in responses]),
        "ec_transfer_params": _common([response.ec_transfer_params for response in responses]),
        "metrics": responses[0].metrics if len(responses) == 1 else None,
    }


def chat_chunk(
    chunk: GenerateChunk,
    model: str,
    choices: list[ChatChunkChoice],
    usage: Usage | None,
    with_prompt: bool,
    created: int,
) -> ChatChunk:
    """A chat completion chunk."""
    return {
        "id": chunk.request_id,
        "object": "chat.completion.chunk",
        "created": created,
        "model": model,
        "choices": choices,
        "usage": usage,
        "system_fingerprint": None,
        "prompt_token_ids": chunk.prompt_token_ids if with_prompt else None,
        "prompt_text": None,
        "metrics": chunk.metrics,
        "kv_transfer_params": chunk.kv_transfer_params,
    }


def completion_chunk(
    chunk: GenerateChunk, model: str, choices: list[CompletionChoice], usage: Usage | None, created: int
) -> CompletionChunk:
    """A text completion chunk."""
    return {
        "id": chunk.request_id,
        "object": "text_completion",
        "created": created,
        "model": model,
        "choices": choices,
        "usage": usage,
        "system_fingerprint": None,
        "metrics": chunk.metrics,
        "kv_transfer_params": chunk.kv_transfer_params,
    }


def whole_usage(responses: Sequence[GenerateResponse], prompt_tokens: int | None) -> Usage:
    """Token counts of whole answers.

    Args:
        prompt_tokens: what the caller counted; None: what the engine did, else 0.
    """
    usages = [response.usage for response in responses if response.usage is not None]
    if prompt_tokens is None:
        prompt_tokens = sum(usage.prompt_tokens for usage in usages)
    completion_tokens = sum(len(choice.token_ids or ()) for response in responses for choice in response.choices)
    details = usages[0] if len(usages) == 1 and len(responses) == 1 else GenerateUsage()
    return _usage(prompt_tokens, completion_tokens, details)


def chunk_usage(chunk: GenerateChunk, prompt_tokens: int | None) -> Usage | None:
    """Token counts of a chunk, where the engine sent them; `prompt_tokens` is the caller's count."""
    usage = chunk.usage
    if usage is None:
        return None
    return _usage(usage.prompt_tokens if prompt_tokens is None else prompt_tokens, usage.completion_tokens or 0, usage)


def prompt_logprobs(response: GenerateResponse) -> list[Json | None] | None:
    """The engine's prompt logprobs, token ids as keys."""
    if response.prompt_logprobs is None:
        return None
    return [
        None if position is None else {str(token_id): _prompt_logprob(row) for token_id, row in position.items()}
        for position in response.prompt_logprobs
    ]


def now() -> int:
    """Unix seconds."""
    return int(time.time())


def _prompt_logprob(row: PromptLogprob) -> Json:
    return {"logprob": finite(row.logprob), "rank": row.rank, "decoded_token": row.decoded_token}


def _usage(prompt_tokens: int, completion_tokens: int, details: GenerateUsage) -> Usage:
    return {
        "prompt_tokens": prompt_tokens,
        "total_tokens": prompt_tokens + completion_tokens,
        "completion_tokens": completion_tokens,
        "prompt_tokens_details": details.prompt_tokens_details,
        "completion_tokens_details": details.completion_tokens_details,
    }


def _common(values: Sequence[Json | None]) -> Json | None:
    first = values[0]
    return first if all(value == first for value in values) else None
