"""`/v1/completions` bodies (wire.md 2.5)."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, field_validator, model_validator

from renderlayer.errors import BadRequest
from renderlayer.wire.common.base import ListOf
from renderlayer.wire.common.sampling import SamplingFields, check_number

_KINDS = ("json", "regex", "choice")
TokenId = Annotated[int, Field(ge=0)]


class CompletionRequest(SamplingFields):
    prompt: ListOf[TokenId] | ListOf[ListOf[TokenId]] | str | ListOf[str] | None = None
    prompt_embeds: str | ListOf[str] | None = None
    max_tokens: int | None = 16
    n: int = 1
    echo: bool | None = False
    logprobs: int | None = None
    suffix: str | None = None
    add_special_tokens: bool = True
    media_io_kwargs: Any = None
    mm_processor_kwargs: Any = None

    @field_validator("max_tokens", mode="before")
    @classmethod
    def _sixteen_when_null(cls, value: Any) -> Any:
        return 16 if value is None else value

    @model_validator(mode="before")
    @classmethod
    def _completion_checks(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        if data.get("logprob_token_ids"):
            _check_token_logprobs(data)
        constraint = data.get("structured_outputs")
        if isinstance(constraint, dict) and sum(constraint.get(kind) is not None for kind in _KINDS) > 1:
            raise BadRequest(
                f"You can only use one kind of constraints for structured outputs {_KINDS}.", "structured_outputs"
            )
        check_number(data, "logprobs")
        logprobs = data.get("logprobs")
        if logprobs is not None and logprobs < 0 and logprobs != -1:
            raise BadRequest("`logprobs` must be a positive value or -1.", "logprobs", logprobs)
        if data.get("prompt") in (None, "") and data.get("prompt_embeds") in (None, []):
            raise BadRequest("Either prompt or prompt_embeds must be provided and non-empty.", "prompt")
        return data


def _check_token_logprobs(data: dict[str, Any]) -> None:
    if data.get("logprobs") is None:
        raise BadRequest("when using `logprob_token_ids`, `logprobs` must be set.", "logprob_token_ids")
    if data.get("echo") and data.get("max_tokens") == 0:
        raise BadRequest("`logprob_token_ids` needs output tokens: max_tokens must not be 0.", "logprob_token_ids")
