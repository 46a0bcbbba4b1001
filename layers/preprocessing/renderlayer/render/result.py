"""The GenerateRequest that every render endpoint answers (wire.md 2.1)."""

from __future__ import annotations

from typing import Any

from renderlayer.errors import BadRequest
from renderlayer.render.extra_args import transfer_params
from renderlayer.render.types import Offsets
from renderlayer.wire.common.sampling import SamplingFields


def generate_request(
    request: SamplingFields,
    *,
    request_id: str,
    token_ids: list[int],
    sampling_params: dict[str, Any],
    offsets: Offsets | None = None,
    features: dict[str, Any] | None = None,
    reasoning_ended: bool | None = None,
    reasoning_kwargs: dict[str, Any] | None = None,
    parse_context: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """All keys, in the reference's order, nulls included.

    Raises:
        BadRequest: there is no token to generate from.
    """
    if not token_ids:
        raise BadRequest("No token_ids rendered")
    options = request.stream_options if request.stream else None
    return {
        "request_id": request_id,
        "token_ids": token_ids,
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
