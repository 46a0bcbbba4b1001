"""`/tokenize` and `/detokenize` bodies (wire.md 1.9)."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, model_validator

from renderlayer.wire.chat import ChatTool, Messages
from renderlayer.wire.common.base import INT64_MAX, Body, ListOf
from renderlayer.wire.common.sampling import MediaOptions


class TokenizeCompletionRequest(Body):
    model: str | None = None
    prompt: str
    add_special_tokens: bool = True
    return_token_strs: bool | None = False


class TokenizeChatRequest(Body):
    model: str | None = None
    messages: Messages
    add_generation_prompt: bool = True
    return_token_strs: bool | None = False
    continue_final_message: bool = False
    add_special_tokens: bool = False
    chat_template: str | None = None
    chat_template_kwargs: dict[str, Any] | None = None
    media_io_kwargs: MediaOptions | None = None
    mm_processor_kwargs: dict[str, Any] | None = None
    tools: ListOf[ChatTool] | None = None

    @model_validator(mode="before")
    @classmethod
    def _one_ending(cls, data: Any) -> Any:
        if isinstance(data, dict) and data.get("continue_final_message") and data.get("add_generation_prompt"):
            raise ValueError("Cannot set both `continue_final_message` and `add_generation_prompt` to True.")
        return data

    def tool_dicts(self) -> list[dict[str, Any]] | None:
        """The tools as plain data; an empty list stays one, which some templates tell from none."""
        return None if self.tools is None else [tool.dumped() for tool in self.tools]


class DetokenizeRequest(Body):
    model: str | None = None
    tokens: ListOf[Annotated[int, Field(ge=0, le=INT64_MAX)]]
