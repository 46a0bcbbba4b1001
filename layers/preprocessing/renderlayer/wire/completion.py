"""`/v1/completions` bodies (wire.md 2.5)."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, field_validator, model_validator

from renderlayer.errors import BadRequest
from renderlayer.wire._base import ListOf
from renderlayer.wire._sampling import SamplingFields

TokenId = Annotated[int, Field(ge=0)]


class CompletionRequest(SamplingFields):
    prompt: ListOf[TokenId] | ListOf[ListOf[TokenId]] | str | ListOf[str] | None = None
    prompt_embeds: str | ListOf[str] | None = None
    max_tokens: int | None = 16
    logprobs: int | None = None
    suffix: str | None = None
    add_special_tokens: bool = True

    @field_validator("max_tokens", mode="before")
    @classmethod
    def _sixteen_when_null(cls, value: Any) -> Any:
        return 16 if value is None else value

    @model_validator(mode="before")
    @classmethod
    def _completion_checks(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        logprobs = data.get("logprobs")
        if isinstance(logprobs, int) and logprobs < 0 and logprobs != -1:
            raise BadRequest("`logprobs` must be a positive value or -1.", "logprobs", logprobs)
        if data.get("prompt") in (None, "") and not data.get("prompt_embeds"):
            raise BadRequest("Either prompt or prompt_embeds must be provided and non-empty.", "prompt")
        if data.get("prompt_embeds"):
            raise BadRequest("You must set `--enable-prompt-embeds` to input `prompt_embeds`.", "prompt_embeds")
        return data
