"""The GenerateRequest that every render endpoint answers, and the ids of requests (wire.md 1.5, 2.1)."""

from __future__ import annotations

import os
from array import array
from typing import TYPE_CHECKING, Any

from renderlayer.errors import BadRequest
from renderlayer.render.types import Offsets
from renderlayer.wire.common.base import INT64_MIN
from renderlayer.wire.common.sampling import SamplingFields

if TYPE_CHECKING:
    from renderlayer.wire.answers import GenerateRequest, ParseContext, SamplingParams

UINT64_MAX = 2**64 - 1
TRANSFERS = ("kv_transfer_params", "ec_transfer_params")
# Deeper objects would overflow the engine's decoder.
_MAX_DEPTH = 64


def generate_request(
    request: SamplingFields,
    *,
    request_id: str,
    token_ids: list[int] | array[int],
    sampling_params: SamplingParams,
    offsets: Offsets | None = None,
    features: dict[str, Any] | None = None,
    reasoning_ended: bool | None = None,
    reasoning_kwargs: dict[str, Any] | None = None,
    parse_context: ParseContext | None = None,
) -> GenerateRequest:
    """All keys, in the reference's order, nulls included.

    Raises:
        BadRequest: there is no token to generate from.
    """
    if not token_ids:
        raise BadRequest("No token_ids rendered")
    options = request.stream_options if request.stream else None
    return {
        "request_id": request_id,
        "token_ids": token_ids if isinstance(token_ids, list) else token_ids.tolist(),
        "token_offsets": offsets,
        "features": features,
        "content_parts": None,
        "sampling_params": sampling_params,
        "model": request.model,
        "reasoning_ended": reasoning_ended,
        "reasoning_parser_kwargs": None if reasoning_kwargs is None else {"chat_template_kwargs": reasoning_kwargs},
        "return_token_ids": request.return_token_ids,
        "output_mode": "tokens",
        "parse_context": parse_context,
        "stream": bool(request.stream),
        "stream_options": None if options is None else options.model_dump(),
        "cache_salt": request.cache_salt,
        "priority": request.priority,
        "kv_transfer_params": transfer_params(request.kv_transfer_params),
        "ec_transfer_params": transfer_params(request.ec_transfer_params),
    }


def extra_args(request: SamplingFields, empty: bool) -> dict[str, Any] | None:
    """The engine extensions: vllm_xargs, without what has a place of its own.

    Args:
        empty: an empty object is given where the request has neither extensions nor transfer parameters.

    Raises:
        BadRequest: they hold what the engine's transport cannot carry.
    """
    given = request.vllm_xargs or {}
    for name in TRANSFERS:
        if name in given and not getattr(request, name):
            raise BadRequest(f"{name} must be an object, and stand beside vllm_xargs.")
    if not given:
        return {} if empty and not any(getattr(request, name) for name in TRANSFERS) else None
    if not _packable(given):
        raise BadRequest("vllm_xargs must hold numbers of at most 64 bits.", "extra_args")
    return {name: value for name, value in given.items() if name not in TRANSFERS} or None


def transfer_params(value: dict[str, Any] | None) -> dict[str, Any] | None:
    """kv or ec transfer parameters as they are passed on: an empty object is none (wire.md 2.4).

    Raises:
        BadRequest: they hold what the engine's transport cannot carry.
    """
    if not _packable(value):
        raise BadRequest("Transfer parameters must hold integers of at most 64 bits.", "extra_args")
    return value or None


def _packable(value: Any, depth: int = 0) -> bool:
    """Whether the engine can carry `value`: integers of 64 bits, no unreasonable nesting."""
    if depth > _MAX_DEPTH:
        return False
    if isinstance(value, int):
        return INT64_MIN <= value <= UINT64_MAX
    if isinstance(value, dict):
        return all(_packable(entry, depth + 1) for entry in value.values())
    if isinstance(value, list):
        return all(_packable(entry, depth + 1) for entry in value)
    return True


def random_id() -> str:
    """16 random hex digits; from the operating system, so that restored snapshots do not repeat each other."""
    return os.urandom(8).hex()


def chosen_id(header_id: str | None, given: str | None) -> str | None:
    """The X-Request-Id header, else the body's request_id, either of which may be empty; None: neither is there."""
    return given if header_id is None else header_id


def chat_id(base: str | None) -> str:
    """The id of a chat or messages request; `base` is what the client chose."""
    return f"chatcmpl-{random_id() if base is None else base}"


def completion_ids(base: str | None, prompts: int) -> list[str]:
    """One id a prompt; a number is appended when there are several."""
    stem = f"cmpl-{random_id() if base is None else base}"
    return [stem] if prompts == 1 else [f"{stem}-{index}" for index in range(prompts)]


def response_id(given: str | None) -> str:
    """The id of a responses request; the header plays no part."""
    return f"resp_{random_id()}" if given is None else given
