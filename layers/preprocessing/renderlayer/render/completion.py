"""`/v1/completions/render`: every prompt becomes a generate request of its own (wire.md 2.5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from renderlayer.errors import BadRequest
from renderlayer.render import constraints
from renderlayer.render.prompt import check_ids, tokenize
from renderlayer.render.renderers import open_prompt_encoder
from renderlayer.render.result import chosen_id, completion_ids, extra_args, generate_request
from renderlayer.render.sampling import max_output_tokens, sampling_params
from renderlayer.render.types import Offsets, TokenizeOptions
from renderlayer.served_model import ServedModel
from renderlayer.wire.completion import CompletionRequest

if TYPE_CHECKING:
    from renderlayer.wire.answers import GenerateRequest


def render_completion(
    request: CompletionRequest, server: ServedModel, header_id: str | None = None
) -> list[GenerateRequest]:
    """Turn a completion request into GenerateRequests, one a prompt, in order.

    Args:
        request: the validated body.
        header_id: value of the X-Request-Id header, which beats the body's request_id.

    Raises:
        BadRequest, NotFound: as wire.md 1.7 lists them.
    """
    server.check_name(request.model)
    if request.use_beam_search:
        raise BadRequest("Beam search is not supported by the render endpoint")
    if request.prompt_embeds not in (None, []):
        raise BadRequest("You must set `--enable-prompt-embeds` to input `prompt_embeds`.", "prompt_embeds")
    prompts = _prompts(request, server) if request.suffix is None else _infills(request, server, request.suffix)
    server.check_media_kwargs(request.media_io_kwargs, request.mm_processor_kwargs)
    ids = completion_ids(chosen_id(header_id, request.request_id), len(prompts))
    return [_one(request, server, prompt, request_id) for prompt, request_id in zip(prompts, ids, strict=True)]


def _prompts(request: CompletionRequest, server: ServedModel) -> Sequence[str | list[int]]:
    prompt = request.prompt
    if isinstance(prompt, str):
        return [prompt]
    if not prompt:
        raise BadRequest("You must pass at least one prompt", "prompt")
    if isinstance(prompt[0], int):
        return [prompt]
    most = server.settings.max_completion_prompts
    if len(prompt) > most:
        raise BadRequest(
            f"prompt list length {len(prompt)} exceeds the maximum allowed count of {most}. "
            "Please send fewer prompts in one request.",
            "prompt",
            len(prompt),
        )
    return prompt


def _infills(request: CompletionRequest, server: ServedModel, suffix: str) -> Sequence[str | list[int]]:
    """Prompts that ask for the text between the request's prompts and its suffix."""
    encoder = server.derived(open_prompt_encoder)
    if encoder is None or encoder.infill is None:
        raise BadRequest("suffix is only supported for models with FIM completion rendering", "suffix")
    if request.echo:
        raise BadRequest("Echo is unsupported with suffix.", "suffix")
    if request.truncate_prompt_tokens is not None:
        raise BadRequest("suffix is not supported with truncate_prompt_tokens.", "suffix")
    begin, hole, end = encoder.infill
    prompts: list[str | list[int]] = []
    for prompt in _prompts(request, server):
        if not isinstance(prompt, str):
            raise BadRequest("suffix requires text prompt input.", "suffix")
        prompts.append(f"{begin}{prompt}{hole}{suffix}{end}")
    return prompts


def _one(request: CompletionRequest, server: ServedModel, prompt: str | list[int], request_id: str) -> GenerateRequest:
    options = TokenizeOptions(
        add_special_tokens=request.add_special_tokens,
        truncate=request.truncate_prompt_tokens,
        side=request.truncation_side,
        keep_all=request.max_tokens == 0,
        offsets=bool(request.return_token_offsets),
    )
    offsets: Offsets | None = None
    if isinstance(prompt, str):
        token_ids, offsets = tokenize(prompt, server, options)
    else:
        token_ids = check_ids(prompt, server, options)
    if not token_ids:
        raise BadRequest("No token_ids rendered")
    requested = request.max_tokens
    if request.echo and requested == 0:
        requested = 1
    prompt_logprobs = request.prompt_logprobs
    if prompt_logprobs is None and request.echo:
        prompt_logprobs = request.logprobs
    params = sampling_params(
        request,
        server,
        max_tokens=max_output_tokens(server, len(token_ids), requested, "max_tokens", request.truncate_prompt_tokens),
        logprobs=None if request.asks_for_tokens else request.logprobs,
        prompt_logprobs=prompt_logprobs,
        structured_outputs=constraints.wish(request),
        skip_special_tokens=None,
        extra_args=extra_args(request, empty=False),
    )
    return generate_request(
        request, request_id=request_id, token_ids=token_ids, sampling_params=params, offsets=offsets
    )
