"""`/v1/messages` bodies (wire.md 2.9)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from renderlayer.wire.common.base import Body, DictOf, ListOf, check_cache_salt
from renderlayer.wire.common.sampling import MediaFields
from renderlayer.wire.generate import ContinueFrom
from renderlayer.wire.message_blocks import check_block
from renderlayer.wire.message_tools import MessageTool, MessageToolChoice

LEAST_BUDGET = 1024


Display = Literal["summarized", "omitted", "updates"]


class ThinkingEnabled(Body):
    type: Literal["enabled"]
    budget_tokens: Annotated[int, Field(ge=LEAST_BUDGET)]
    display: Display | None = None


class ThinkingDisabled(Body):
    type: Literal["disabled"]


class ThinkingAdaptive(Body):
    type: Literal["adaptive"]
    display: Display | None = None


Thinking = Annotated[ThinkingEnabled | ThinkingDisabled | ThinkingAdaptive, Field(discriminator="type")]


class OutputFormat(Body):
    type: Literal["json_schema"] = "json_schema"
    schema_: dict[str, Any] | None = Field(default=None, alias="schema")


class OutputConfig(Body):
    effort: Literal["low", "medium", "high", "xhigh", "max"] | None = None
    format: OutputFormat | None = None


class Message(Body):
    role: Literal["user", "assistant", "system"]
    content: str | ListOf[dict[str, Any]]


class MessagesConversation(Body):
    """What a Messages request and a request to count its tokens have in common."""

    model: str
    messages: ListOf[Message]
    system: str | ListOf[dict[str, Any]] | None = None
    tools: ListOf[MessageTool] | None = None
    tool_choice: MessageToolChoice | None = None
    thinking: Thinking | None = None
    output_config: OutputConfig | None = None
    chat_template_kwargs: dict[str, Any] | None = None

    @field_validator("model")
    @classmethod
    def _model_named(cls, model: str) -> str:
        if not model:
            raise ValueError("Model is required")
        return model

    @field_validator("messages", mode="after")
    @classmethod
    def _readable(cls, messages: list[Message]) -> list[Message]:
        for index, message in enumerate(messages):
            for position, block in enumerate(message.content if isinstance(message.content, list) else ()):
                check_block(block, ("messages", index, "content", position), changes=message.role == "system")
        return messages

    @field_validator("system", mode="after")
    @classmethod
    def _readable_system(cls, system: str | list[dict[str, Any]] | None) -> str | list[dict[str, Any]] | None:
        for position, block in enumerate(system if isinstance(system, list) else ()):
            check_block(block, ("system", position), changes=False)
        return system


class CountTokensRequest(MessagesConversation):
    """The body of `/v1/messages/count_tokens`."""


class MessagesRequest(MessagesConversation, MediaFields):
    """The body of a Messages request."""

    max_tokens: int
    stop_sequences: Annotated[ListOf[str], Field(max_length=4)] | None = None
    stream: bool | None = False
    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    metadata: dict[str, Any] | None = None
    watermarking: bool | None = None
    cache_salt: Annotated[str, Field(min_length=1, max_length=1024)] | None = None
    kv_transfer_params: dict[str, Any] | None = None
    ec_transfer_params: dict[str, Any] | None = None
    vllm_xargs: DictOf[str, str | int | float | ListOf[str | int | float]] | None = None
    continue_from: ContinueFrom | None = None
    return_prefix: bool = False

    @field_validator("max_tokens")
    @classmethod
    def _positive(cls, max_tokens: int) -> int:
        if max_tokens <= 0:
            raise ValueError("max_tokens must be positive")
        return max_tokens

    @model_validator(mode="after")
    def _consistent(self) -> MessagesRequest:
        check_cache_salt({"cache_salt": self.cache_salt})
        if (self.kv_transfer_params or {}).get("do_remote_decode"):
            return self  # a prefill step, which asks for one token whatever the client asked for
        if isinstance(self.thinking, ThinkingEnabled) and self.thinking.budget_tokens >= self.max_tokens:
            raise ValueError("thinking.budget_tokens must be less than max_tokens")
        return self
