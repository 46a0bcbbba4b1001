"""Sampling parameters as the engine takes them: the wire's object, its defaults and its bounds (wire.md 2.2)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from renderlayer.constraints.structural_tags.params import KINDS
from renderlayer.errors import BadRequest
from renderlayer.wire.common.base import INT64_MAX, INT64_MIN, refused

LOWEST_TEMPERATURE = 0.01
LARGEST_BIAS = 100.0
MOST_SEQUENCES = 16_384
MOST_STOP_STRINGS = 4


@dataclass(frozen=True)
class SamplingParams:
    """One request's sampling parameters, checked. Build it with `from_wire`."""

    n: int = 1
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    repetition_penalty: float = 1.0
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    seed: int | None = None
    stop: list[str] = field(default_factory=list)
    stop_token_ids: list[int] = field(default_factory=list)
    ignore_eos: bool = False
    max_tokens: int | None = 16
    min_tokens: int = 0
    logprobs: int | None = None
    prompt_logprobs: int | None = None
    prompt_logprob_token_ids: list[int] | None = None
    prompt_logprob_start: int = 0
    logprob_token_ids: list[int] | None = None
    detokenize: bool = True
    skip_special_tokens: bool = True
    include_stop_str_in_output: bool = False
    stream_interval: int = 1
    structured_outputs: dict[str, Any] | None = None
    logit_bias: dict[int, float] = field(default_factory=dict)
    allowed_token_ids: list[int] | None = None
    bad_words: list[str] = field(default_factory=list)
    thinking_token_budget: int | None = None
    watermarking: dict[str, Any] | None = None
    repetition_detection: dict[str, Any] | None = None
    trace_decode_token_ids: list[int] | None = None

    @property
    def greedy(self) -> bool:
        return self.temperature == 0.0

    @classmethod
    def from_wire(cls, data: Mapping[str, Any]) -> SamplingParams:
        """Read the object of a request; unknown keys are ignored and null stands for the default.

        `max_tokens: null` means "to the end of the context" and stays None.

        Raises:
            ValidationFailed: a value has the wrong type.
            BadRequest: a value is out of its bounds.
        """
        given: dict[str, Any] = {}
        for row in fields(cls):
            value = data.get(row.name)
            if value is not None:
                given[row.name] = _READERS[str(row.type).removesuffix(" | None")](row.name, value)
        if "max_tokens" in data and data["max_tokens"] is None:
            given["max_tokens"] = None
        if 0.0 < given.get("temperature", 1.0) < LOWEST_TEMPERATURE:
            given["temperature"] = LOWEST_TEMPERATURE
        if given.get("seed") == -1:
            del given["seed"]
        if given.get("thinking_token_budget") == -1:
            del given["thinking_token_budget"]
        params = cls(**given)
        _check(params)
        return params


def _check(p: SamplingParams) -> None:
    """Bounds, in the reference's order and with its `param`, which only some of them carry (wire.md 1.7)."""
    _need(p.n >= 1, f"n must be at least 1, got {p.n}.")
    _need(p.n <= MOST_SEQUENCES, f"n must be at most {MOST_SEQUENCES}, got {p.n}.")
    for name in ("presence_penalty", "frequency_penalty"):
        value = getattr(p, name)
        _need(-2.0 <= value <= 2.0, f"{name} must be in [-2, 2], got {value}.")
    finite = math.isfinite(p.repetition_penalty) and p.repetition_penalty > 0.0
    _need(finite, f"repetition_penalty must be greater than zero and finite, got {p.repetition_penalty}.")
    _need(p.temperature >= 0.0, f"temperature must be non-negative, got {p.temperature}.", "temperature", p.temperature)
    _need(p.temperature <= 2.0, f"temperature must be in [0, 2], got {p.temperature}.", "temperature", p.temperature)
    _need(0.0 < p.top_p <= 1.0, f"top_p must be in (0, 1], got {p.top_p}.", "top_p", p.top_p)
    _need(p.top_k >= -1, f"top_k must be 0 (disable), or at least 1, got {p.top_k}.")
    _need(0.0 <= p.min_p <= 1.0, f"min_p must be in [0, 1], got {p.min_p}.")
    _need(p.seed is None or INT64_MIN <= p.seed <= INT64_MAX, f"seed must fit 64 bits, got {p.seed}.")
    if p.max_tokens is not None:
        _need(p.max_tokens >= 1, f"max_tokens must be at least 1, got {p.max_tokens}.", "max_tokens", p.max_tokens)
    _need(p.min_tokens >= 0, f"min_tokens must be greater than or equal to 0, got {p.min_tokens}.")
    if p.max_tokens is not None and p.min_tokens > p.max_tokens:
        raise BadRequest(f"min_tokens must be less than or equal to max_tokens={p.max_tokens}, got {p.min_tokens}.")
    _need(
        p.stream_interval >= 1,
        f"stream_interval must be at least 1, got {p.stream_interval}.",
        "stream_interval",
        p.stream_interval,
    )
    for name in ("logprobs", "prompt_logprobs"):
        count = getattr(p, name)
        if count is not None:
            _need(count >= -1, f"{name} must be non-negative or -1, got {count}.", name, count)
    _need(len(p.stop) <= MOST_STOP_STRINGS, f"at most {MOST_STOP_STRINGS} stop strings, got {len(p.stop)}.", "stop")
    _need("" not in p.stop, "stop cannot contain an empty string.")
    _need(p.detokenize or not p.stop, "stop strings need detokenize to be true.")
    _need("" not in p.bad_words, "bad_words cannot contain an empty string.")
    budget = p.thinking_token_budget
    _need(budget is None or budget >= 0, "thinking_token_budget must be at least 0.", "thinking_token_budget", budget)
    if p.structured_outputs is not None:
        kinds = [name for name in KINDS if p.structured_outputs.get(name) is not None]
        _need(len(kinds) == 1, f"structured_outputs must hold exactly one constraint, got {kinds or None}.")
    _need(not p.greedy or p.n == 1, f"n must be 1 when using greedy sampling, got {p.n}.")


def _need(holds: bool, message: str, param: str | None = None, value: Any = None) -> None:
    if not holds:
        raise BadRequest(message, param, value)


def _wrong(name: str, wanted: str, value: Any) -> Exception:
    message = f"Value error, sampling_params.{name} should be {wanted}"
    return refused(("sampling_params",), "value_error", message, value)


def _int(name: str, value: Any) -> int:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if not isinstance(value, int):
        raise _wrong(name, "an integer", value)
    return int(value)


def _float(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise _wrong(name, "a number", value)
    try:
        return float(value)
    except OverflowError:
        raise _wrong(name, "a number", value) from None


def _bool(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise _wrong(name, "a boolean", value)
    return value


def _strings(name: str, value: Any) -> list[str]:
    entries = [value] if isinstance(value, str) else value
    if not isinstance(entries, list) or not all(isinstance(entry, str) for entry in entries):
        raise _wrong(name, "a list of strings", value)
    return entries


def _ints(name: str, value: Any) -> list[int]:
    if not isinstance(value, list):
        raise _wrong(name, "a list of integers", value)
    return [_int(name, entry) for entry in value]


def _object(name: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _wrong(name, "an object", value)
    return value


def _biases(name: str, value: Any) -> dict[int, float]:
    """Token id → bias; JSON's string keys become integers and the values are clipped to ±100."""
    strange = [key for key in _object(name, value) if not _is_integer(key)]
    if strange:
        raise BadRequest(
            f"logit_bias contains key(s) that cannot be converted to integer token IDs: {strange!r}", name, strange
        )
    return {int(key): min(LARGEST_BIAS, max(-LARGEST_BIAS, _float(name, bias))) for key, bias in value.items()}


def _is_integer(text: str) -> bool:
    try:
        int(text)
    except ValueError:
        return False
    return True


# By the field's annotation.
_READERS: dict[str, Any] = {
    "int": _int,
    "float": _float,
    "bool": _bool,
    "list[str]": _strings,
    "list[int]": _ints,
    "dict[str, Any]": _object,
    "dict[int, float]": _biases,
}
