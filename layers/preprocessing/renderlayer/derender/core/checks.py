"""The bounds of derender bodies, checked before anything is decoded (wire.md 6.2)."""

from __future__ import annotations

from collections.abc import Sequence

from renderlayer.errors import BadRequest
from renderlayer.served_model import ServedModel
from renderlayer.wire.common.sampling import SamplingFields
from renderlayer.wire.derender import GenerateChoice, GenerateChunk, GenerateResponse, LogprobEntry


def check_response(response: GenerateResponse, request: SamplingFields | None, server: ServedModel) -> None:
    """Refuse an engine's answer that is larger than the model can make it."""
    check_count("choices", len(response.choices), server)
    named = len(request.logprob_token_ids or ()) if request is not None else 0
    for at, choice in enumerate(response.choices):
        where = f" in choice {at}"
        _check_length("token_ids", len(choice.token_ids or ()), where, server)
        content = choice.logprobs.content if choice.logprobs else None
        _check_length("logprobs.content", len(content or ()), where, server)
        _check_candidates(content or (), named, where, server)
    _check_length("prompt_logprobs", len(response.prompt_logprobs or ()), "", server)


def check_count(name: str, count: int, server: ServedModel) -> None:
    """Refuse more choices, or more responses, than a request may ask for."""
    most = server.settings.max_n_sequences
    if count > most:
        raise BadRequest(f"{name} count ({count}) exceeds the maximum of {most}.")


def check_prompt(token_ids: Sequence[int] | None, server: ServedModel) -> None:
    """Refuse a prompt that is longer than the context."""
    _check_length("prompt_token_ids", len(token_ids or ()), "", server)


def check_total(before: int, delta: int, server: ServedModel) -> None:
    """Refuse a stream that is longer than the context.

    Args:
        before: tokens of the prompt and of the output so far.
        delta: tokens of this chunk.
    """
    total, most = before + delta, server.max_model_len
    if total > most:
        raise BadRequest(
            f"The prompt and the output so far ({before} tokens) with this chunk ({delta} tokens) are {total} tokens, "
            f"which exceeds max_model_len ({most})."
        )


def check_chunk(chunk: GenerateChunk, server: ServedModel) -> None:
    """Refuse an event that alone is longer than the context."""
    for choice in chunk.choices:
        content = choice.logprobs.content if choice.logprobs else None
        _check_length("token_ids", len(choice.token_ids or ()), "", server)
        _check_length("logprobs.content", len(content or ()), "", server)


def check_one_choice(count: int, caller: str) -> None:
    """Refuse a chunk with several choices: there is one state for each."""
    if count > 1:
        raise BadRequest(f"{caller} expects at most one choice per chunk (got {count}).")


def check_no_stop(request: SamplingFields | None) -> None:
    """Refuse stop strings where text is sent before its end is known."""
    if request is not None and request.stop_list():
        raise BadRequest(
            "stop strings are not supported by streaming derender because text already sent cannot be cut. "
            "Use non-streaming derender or output_mode=text on /inference/v1/generate which holds stop strings back."
        )


def check_tokens(choice: GenerateChoice, place: str) -> None:
    """Refuse a whole choice without tokens."""
    if not choice.token_ids:
        raise BadRequest(f"choice {choice.index}{place} has empty or null token_ids")


def _check_length(name: str, length: int, where: str, server: ServedModel) -> None:
    if length > server.max_model_len:
        raise BadRequest(f"{name} length ({length}){where} exceeds max_model_len ({server.max_model_len}).")


def _check_candidates(content: Sequence[LogprobEntry], named: int, where: str, server: ServedModel) -> None:
    """Refuse more candidates a position than an engine with this server's max_logprobs sends.

    That is one more when the sampled token is not among the most likely, or as many as the request named; the
    reference refuses both, and so the answers of its own engine (wire.md 9.43).
    """
    most = server.settings.max_logprobs
    if most < 0:
        return
    for entry in content:
        count = len(entry.top_logprobs)
        if count <= max(most, named + 1 if named else 0):
            continue
        sampled = entry.top_logprobs[0]
        outside = sampled.token_id == entry.token_id and (sampled.rank or 0) > most
        if count > most + 1 or not outside:
            raise BadRequest(f"top_logprobs count ({count}){where} exceeds max_logprobs ({most}).")
