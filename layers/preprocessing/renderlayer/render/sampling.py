"""Sampling parameters: defaults, bounds, and how they are written on the wire (wire.md 2.2, 2.3)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, cast

from renderlayer.errors import BadRequest
from renderlayer.served_model import ServedModel
from renderlayer.wire.common.sampling import SamplingFields

if TYPE_CHECKING:
    from renderlayer.wire.answers import SamplingParams

# Defaults of the OpenAI API, where neither the request nor the model has one.
_OPENAI_DEFAULTS = {
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
    "repetition_penalty": 1.0,
    "temperature": 1.0,
    "top_p": 1.0,
    "top_k": 0,
    "min_p": 0.0,
    "skip_special_tokens": True,
}
MIN_TEMPERATURE = 0.01
MAX_TEMPERATURE = 2.0
MAX_LOGIT_BIAS = 100.0
FINAL_ONLY, DELTA = 2, 1


def max_output_tokens(
    server: ServedModel,
    prompt_tokens: int,
    requested: int | None,
    param: str,
    truncate: int | None = None,
    checked: bool = True,
) -> int:
    """Output tokens a request may produce, always stated in the result (wire.md 2.3).

    Args:
        prompt_tokens: length of the prompt.
        requested: what the request asks for, or None.
        param: the field that `requested` came from, for the error.
        truncate: truncate_prompt_tokens of the request.
        checked: whether a wish beyond the context is refused; else it is cut.

    Raises:
        BadRequest: the prompt or the wish is longer than the context.
    """
    limit = server.max_model_len
    if truncate is not None:
        prompt_tokens = min(prompt_tokens, limit if truncate == -1 else truncate)
    if prompt_tokens > limit:
        raise BadRequest(f"Input length ({prompt_tokens}) exceeds model's maximum context length ({limit}).")
    if requested is None:
        requested = server.sampling_defaults.get("max_tokens")
    if checked and requested is not None and requested > limit:
        raise BadRequest(
            f"{param}={requested} cannot be greater than max_model_len={limit}. Please request fewer output tokens.",
            param,
            requested,
        )
    known = (limit - prompt_tokens, requested, server.max_tokens_cap)
    return min(value for value in known if value is not None)


def sampling_params(
    request: SamplingFields,
    server: ServedModel,
    *,
    max_tokens: int,
    logprobs: int | None,
    prompt_logprobs: int | None,
    structured_outputs: dict[str, Any] | None,
    skip_special_tokens: bool | None,
    extra_args: dict[str, Any] | None,
) -> SamplingParams:
    """The `sampling_params` object in the reference's key order, checked.

    Args:
        max_tokens: from `max_output_tokens`.
        logprobs, prompt_logprobs: resolved counts; None is off.
        structured_outputs: the dumped constraint, or None.
        skip_special_tokens: what a parser demands; None leaves it to the request and the model.
        extra_args: engine extensions; an empty dict is written, None is not.

    Raises:
        BadRequest: a bound of wire.md 2.2 is broken.
    """
    value = _resolver(request, server)
    temperature = float(value("temperature"))
    if 0 < temperature < MIN_TEMPERATURE:
        temperature = MIN_TEMPERATURE
    greedy = temperature == 0.0
    if skip_special_tokens is None:
        skip_special_tokens = value("skip_special_tokens")
    stop = request.stop_list()
    count = 1 if request.n is None else request.n
    repetition = request.repetition_detection
    out: dict[str, Any] = {
        "n": count,
        "presence_penalty": float(value("presence_penalty")),
        "frequency_penalty": float(value("frequency_penalty")),
        "repetition_penalty": float(value("repetition_penalty")),
        "temperature": temperature,
        "watermarking": request.watermarking,
        "top_p": float(value("top_p")),
        "top_k": int(value("top_k")),
        "min_p": float(value("min_p")),
        "seed": None if request.seed == -1 else request.seed,
        "stop": stop,
        "stop_token_ids": list(dict.fromkeys(request.stop_token_ids or ())),
        "ignore_eos": request.ignore_eos,
        "max_tokens": max_tokens,
        "min_tokens": request.min_tokens,
        "logprobs": logprobs,
        "prompt_logprobs": prompt_logprobs,
        "logprob_token_ids": request.logprob_token_ids or None,
        "skip_special_tokens": skip_special_tokens,
        "spaces_between_special_tokens": request.spaces_between_special_tokens,
        "include_stop_str_in_output": request.include_stop_str_in_output,
        "output_kind": DELTA if request.stream else FINAL_ONLY,
        "stream_interval": request.stream_interval,
        "skip_clone": True,
        "output_text_buffer_length": _held_back(stop, request.include_stop_str_in_output),
        "structured_outputs": structured_outputs,
        "logit_bias": _logit_bias(request.logit_bias),
        "allowed_token_ids": request.allowed_token_ids,
        "extra_args": extra_args,
        "bad_words": list(dict.fromkeys(request.bad_words)),
        "skip_reading_prefix_cache": prompt_logprobs is not None,
        "thinking_token_budget": _thinking_budget(request.thinking_token_budget),
        "repetition_detection": None if repetition is None else repetition.model_dump(),
        "routed_experts_prompt_start": request.routed_experts_prompt_start,
    }
    _check(out, server)
    if greedy:
        if count > 1:
            raise BadRequest(f"n must be 1 when using greedy sampling, got {count}.")
        for name in ("top_p", "top_k", "min_p"):
            del out[name]
    return cast("SamplingParams", {name: found for name, found in out.items() if not _omitted(name, found)})


def _resolver(request: SamplingFields, server: ServedModel) -> Any:
    defaults = {**_OPENAI_DEFAULTS, **server.sampling_defaults}

    def value(name: str) -> Any:
        given = getattr(request, name, None)
        return defaults[name] if given is None else given

    return value


# What an absent key means to the engine. Floats are always written, and max_tokens, although 16 is its default:
# the engine reads its absence as "up to the end of the context" (wire.md 9.1).
_ABSENT_MEANS: dict[str, Any] = {
    "n": 1,
    "top_k": 0,
    "min_tokens": 0,
    "routed_experts_prompt_start": 0,
    "output_text_buffer_length": 0,
    "ignore_eos": False,
    "skip_special_tokens": True,
    "spaces_between_special_tokens": True,
    "include_stop_str_in_output": False,
}


def _omitted(name: str, value: Any) -> bool:
    return value is None or (name in _ABSENT_MEANS and value == _ABSENT_MEANS[name])


def _held_back(stop: list[str], included: bool) -> int:
    """Characters the engine holds back so that a stop string is never sent in part."""
    return max((len(text) for text in stop), default=1) - 1 if stop and not included else 0


def _logit_bias(bias: dict[str, float] | None) -> dict[str, float] | None:
    if bias is None:
        return None
    wrong = [key for key in bias if not _is_int(key)]
    if wrong:
        raise BadRequest(
            f"logit_bias contains key(s) that cannot be converted to integer token IDs: {wrong}", "logit_bias", wrong
        )
    return {str(int(key)): min(MAX_LOGIT_BIAS, max(-MAX_LOGIT_BIAS, value)) for key, value in bias.items()}


def _is_int(text: str) -> bool:
    try:
        int(text)
    except ValueError:
        return False
    return True


def _thinking_budget(value: Any) -> int | None:
    if value is None or (value == -1 and not isinstance(value, (bool, float))):
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise BadRequest("thinking_token_budget must be a non-negative integer or -1.", "thinking_token_budget", value)
    return value


def _check(params: dict[str, Any], server: ServedModel) -> None:
    """The bounds of wire.md 2.2 that are checked at render; some name their field, some do not (1.7)."""
    n, top_k, max_tokens, min_tokens = (params[key] for key in ("n", "top_k", "max_tokens", "min_tokens"))
    if n < 1:
        raise BadRequest(f"n must be at least 1, got {n}.")
    if n > server.settings.max_n_sequences:
        raise BadRequest(f"n must be at most {server.settings.max_n_sequences}, got {n}.")
    for name in ("presence_penalty", "frequency_penalty"):
        if not -2 <= params[name] <= 2:
            raise BadRequest(f"{name} must be in [-2, 2], got {params[name]}.")
    repetition = params["repetition_penalty"]
    if not repetition > 0 or math.isinf(repetition):
        raise BadRequest(f"repetition_penalty must be greater than zero and finite, got {repetition}.")
    temperature = params["temperature"]
    if temperature < 0:
        raise BadRequest(f"temperature must be non-negative, got {temperature}.", "temperature", temperature)
    if not temperature <= MAX_TEMPERATURE:
        raise BadRequest(f"temperature must be in [0, 2], got {temperature}.", "temperature", temperature)
    if not 0 < params["top_p"] <= 1:
        raise BadRequest(f"top_p must be in (0, 1], got {params['top_p']}.", "top_p", params["top_p"])
    if top_k < -1:
        raise BadRequest(f"top_k must be 0 (disable), or at least 1, got {top_k}.")
    if not 0 <= params["min_p"] <= 1:
        raise BadRequest(f"min_p must be in [0, 1], got {params['min_p']}.")
    if max_tokens < 1:
        raise BadRequest(f"max_tokens must be at least 1, got {max_tokens}.", "max_tokens", max_tokens)
    if min_tokens < 0:
        raise BadRequest(f"min_tokens must be greater than or equal to 0, got {min_tokens}.")
    if min_tokens > max_tokens:
        raise BadRequest(f"min_tokens must be less than or equal to max_tokens={max_tokens}, got {min_tokens}.")
    for name in ("logprobs", "prompt_logprobs"):
        value = params[name]
        if value is not None and value < 0 and value != -1:
            raise BadRequest(f"{name} must be non-negative or -1, got {value}.", name, value)
    for name in ("stop", "bad_words"):
        if "" in params[name]:
            raise BadRequest(f"{name} cannot contain an empty string.")
