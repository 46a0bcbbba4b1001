"""The sampling fields that chat and completion requests share (wire.md 2.4, 2.5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import Field, WrapValidator, model_validator

from renderlayer.errors import BadRequest
from renderlayer.wire.common.base import INT64_MAX, Body, DictOf, Given, ListOf, check_cache_salt
from renderlayer.wire.generate import Int64, StreamOptions

MmPayload = Literal["tensors", "none", "reference", "auto"]
Stop = str | Annotated[ListOf[str], Field(max_length=4)] | None
MediaOptions = DictOf[str, dict[str, Any]]


class RepetitionDetection(Body):
    """When repeated patterns of output tokens end an answer; all zero is never."""

    max_pattern_size: int = 0
    min_pattern_size: int = 0
    min_count: int = 0

    @model_validator(mode="after")
    def _consistent(self) -> RepetitionDetection:
        if not 0 <= self.min_pattern_size <= self.max_pattern_size:
            raise BadRequest("repetition_detection: 0 <= min_pattern_size <= max_pattern_size must hold.")
        if self.max_pattern_size > 0 and self.min_count < 2:
            raise BadRequest("repetition_detection: min_count must be at least 2 where max_pattern_size is not 0.")
        return self


def _only_false(given: Any, validated: Callable[[Any], Any]) -> Any:
    """The boolean; what is read as false without being JSON's `false` ("off", 0) says nothing, as in the reference."""
    value = validated(given)
    return None if value is False and given is not False else value


class MediaFields(Body):
    """What of media is sent; `return_mm_kwargs: false` is an older way of saying "none"."""

    mm_payload: Given[MmPayload] = None
    return_mm_kwargs: Annotated[bool | None, WrapValidator(_only_false)] = None


class SamplingFields(MediaFields):
    """Fields with one meaning on every OpenAI-style endpoint that carries them."""

    model: str | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    repetition_penalty: float | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    logit_bias: DictOf[str, float] | None = None
    max_tokens: int | None = None
    n: int | None = 1
    seed: Int64 | None = None
    stop: Stop = None
    stop_token_ids: ListOf[int] | None = None
    include_stop_str_in_output: bool = False
    ignore_eos: bool = False
    min_tokens: int = 0
    skip_special_tokens: bool | None = None
    spaces_between_special_tokens: bool = True
    allowed_token_ids: ListOf[int] | None = None
    bad_words: ListOf[str] = Field(default_factory=list)
    prompt_logprobs: int | None = None
    logprob_token_ids: ListOf[int] | None = None
    repetition_detection: RepetitionDetection | None = None
    stream_interval: Annotated[int, Field(ge=1)] | None = None
    watermarking: bool | None = None
    routed_experts_prompt_start: Annotated[int, Field(ge=0)] = 0
    thinking_token_budget: Any = None
    use_beam_search: bool = False
    length_penalty: float = 1.0
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    user: str | None = None
    truncate_prompt_tokens: Annotated[int, Field(ge=-1, le=INT64_MAX)] | None = None
    truncation_side: Literal["left", "right"] | None = None
    response_format: dict[str, Any] | None = None
    structured_outputs: dict[str, Any] | None = None
    priority: Int64 = 0
    request_id: Given[str] = None
    session_id: str | None = None
    return_token_ids: bool | None = None
    return_token_offsets: bool | None = False
    return_weight_versions: bool = False
    return_tokens_as_token_ids: bool | None = None
    cache_salt: str | None = None
    kv_transfer_params: dict[str, Any] | None = None
    ec_transfer_params: dict[str, Any] | None = None
    vllm_xargs: DictOf[str, str | int | float | ListOf[str | int | float]] | None = None

    @model_validator(mode="before")
    @classmethod
    def _cross_checks(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        if data.get("stream_options") and not data.get("stream"):
            raise BadRequest("Stream options can only be defined when `stream=True`.", "stream_options")
        _check_removed(data)
        check_number(data, "prompt_logprobs")
        prompt_logprobs = data.get("prompt_logprobs")
        if prompt_logprobs is not None:
            if data.get("stream") and (prompt_logprobs > 0 or prompt_logprobs == -1):
                raise BadRequest("`prompt_logprobs` are not available when `stream=True`.", "prompt_logprobs")
            if prompt_logprobs < 0 and prompt_logprobs != -1:
                raise BadRequest(
                    "`prompt_logprobs` must be a positive value or -1.", "prompt_logprobs", prompt_logprobs
                )
        check_cache_salt(data)
        return data

    @property
    def asks_for_tokens(self) -> bool:
        """Whether logprob_token_ids names any: an empty list is as good as none."""
        return bool(self.logprob_token_ids)

    def stop_list(self) -> list[str]:
        """The stop strings as a list."""
        if self.stop is None:
            return []
        return [self.stop] if isinstance(self.stop, str) else self.stop


def check_number(data: dict[str, Any], name: str) -> None:
    """Refuse a field that is compared before it is converted and is no number.

    Raises:
        BadRequest: with the field's name.
    """
    value = data.get(name)
    if value is not None and not isinstance(value, (int, float)):
        raise BadRequest(f"`{name}` must be an integer.", name, value)


# Fields that engines of old had, and the field of `structured_outputs` that stands for each.
_REMOVED = {f"guided_{kind}": kind for kind in ("json", "regex", "choice", "grammar", "whitespace_pattern")}


def _check_removed(data: dict[str, Any]) -> None:
    """Refuse constraints that would be ignored: an answer of any form would come back for one of a certain form."""
    for name in _REMOVED.keys() & data.keys():
        if data[name] is not None:
            raise BadRequest(f"`{name}` is gone: use `structured_outputs: {{{_REMOVED[name]!r}: …}}`.", name)
