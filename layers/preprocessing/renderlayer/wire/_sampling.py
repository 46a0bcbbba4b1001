"""The sampling fields that chat and completion requests share (wire.md 2.4, 2.5)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from renderlayer.errors import BadRequest
from renderlayer.wire._base import Body, DictOf, ListOf
from renderlayer.wire.generate import Int64, StreamOptions, check_cache_salt

MmPayload = Literal["tensors", "none", "reference", "auto"]
Stop = str | Annotated[ListOf[str], Field(max_length=4)] | None


class SamplingFields(Body):
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
    n: int = 1
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
    repetition_detection: dict[str, Any] | None = None
    stream_interval: int | None = None
    watermarking: dict[str, Any] | None = None
    routed_experts_prompt_start: int = 0
    thinking_token_budget: Any = None
    use_beam_search: bool = False
    length_penalty: float = 1.0
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    echo: bool | None = False
    user: str | None = None
    truncate_prompt_tokens: Annotated[int, Field(ge=-1)] | None = None
    truncation_side: Literal["left", "right"] | None = None
    response_format: dict[str, Any] | None = None
    structured_outputs: dict[str, Any] | None = None
    priority: Int64 = 0
    request_id: str | None = None
    return_token_ids: bool | None = None
    return_token_offsets: bool = False
    return_tokens_as_token_ids: bool | None = None
    cache_salt: str | None = None
    kv_transfer_params: dict[str, Any] | None = None
    ec_transfer_params: dict[str, Any] | None = None
    vllm_xargs: DictOf[str, str | int | float | ListOf[str | int | float]] | None = None

    @field_validator("n", mode="before")
    @classmethod
    def _one_when_null(cls, value: Any) -> Any:
        return 1 if value is None else value

    @model_validator(mode="before")
    @classmethod
    def _cross_checks(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        if data.get("stream_options") is not None and not data.get("stream"):
            raise BadRequest("Stream options can only be defined when `stream=True`.", "stream_options")
        prompt_logprobs = data.get("prompt_logprobs")
        if isinstance(prompt_logprobs, int):
            if data.get("stream") and (prompt_logprobs > 0 or prompt_logprobs == -1):
                raise BadRequest("`prompt_logprobs` are not available when `stream=True`.", "prompt_logprobs")
            if prompt_logprobs < 0 and prompt_logprobs != -1:
                raise BadRequest(
                    "`prompt_logprobs` must be a positive value or -1.", "prompt_logprobs", prompt_logprobs
                )
        check_cache_salt(data)
        return data

    def stop_list(self) -> list[str]:
        """The stop strings as a list."""
        if self.stop is None:
            return []
        return [self.stop] if isinstance(self.stop, str) else self.stop
