"""`/v1/messages` bodies, Anthropic's dialect (wire.md 2.9)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from renderlayer.wire._base import Body, DictOf, ListOf, refused
from renderlayer.wire._sampling import MmPayload
from renderlayer.wire.generate import check_cache_salt

LEAST_BUDGET = 1024

BLOCK_TYPES = frozenset(
    (
        "text",
        "image",
        "thinking",
        "redacted_thinking",
        "tool_use",
        "tool_result",
        "tool_reference",
        "tool_addition",
    )
)


class MessageTool(Body):
    """A tool; `defer_loading` withholds it until the conversation names it."""

    name: str
    description: str | None = None
    input_schema: dict[str, Any]
    defer_loading: bool | None = None

    @property
    def parameters(self) -> dict[str, Any]:
        """The schema, an object by default."""
        return self.input_schema if "type" in self.input_schema else {**self.input_schema, "type": "object"}


class MessageToolChoice(Body):
    type: Literal["auto", "any", "tool", "none"]
    name: str | None = None
    disable_parallel_tool_use: bool | None = None

    @model_validator(mode="after")
    def _named(self) -> MessageToolChoice:
        if self.type == "tool" and not self.name:
            raise ValueError("a tool_choice of type tool needs a name")
        return self


class Thinking(Body):
    type: Literal["enabled", "disabled", "adaptive"]
    budget_tokens: Annotated[int, Field(ge=LEAST_BUDGET)] | None = None

    @model_validator(mode="after")
    def _budgeted(self) -> Thinking:
        if self.type == "enabled" and self.budget_tokens is None:
            raise ValueError("thinking.budget_tokens is required when thinking is enabled")
        return self


class OutputFormat(Body):
    type: Literal["json_schema"]
    schema_: dict[str, Any] = Field(alias="schema")


class OutputConfig(Body):
    effort: Literal["low", "medium", "high", "xhigh", "max"] | None = None
    format: OutputFormat | None = None


class Message(Body):
    role: Literal["user", "assistant", "system"]
    content: str | ListOf[dict[str, Any]]


class MessagesRequest(Body):
    """The body of a Messages request."""

    model: str
    messages: ListOf[Message]
    max_tokens: int
    system: str | ListOf[dict[str, Any]] | None = None
    stop_sequences: Annotated[ListOf[str], Field(max_length=4)] | None = None
    stream: bool | None = False
    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    metadata: dict[str, Any] | None = None
    tools: ListOf[MessageTool] | None = None
    tool_choice: MessageToolChoice | None = None
    thinking: Thinking | None = None
    output_config: OutputConfig | None = None
    chat_template_kwargs: dict[str, Any] | None = None
    mm_payload: MmPayload | None = None
    watermarking: dict[str, Any] | None = None
    cache_salt: str | None = None
    kv_transfer_params: dict[str, Any] | None = None
    ec_transfer_params: dict[str, Any] | None = None
    vllm_xargs: DictOf[str, str | int | float | ListOf[str | int | float]] | None = None

    @model_validator(mode="before")
    @classmethod
    def _salted(cls, data: Any) -> Any:
        if isinstance(data, dict):
            check_cache_salt(data)
        return data

    @field_validator("model")
    @classmethod
    def _model_named(cls, model: str) -> str:
        if not model:
            raise ValueError("Model is required")
        return model

    @field_validator("max_tokens")
    @classmethod
    def _positive(cls, max_tokens: int) -> int:
        if max_tokens <= 0:
            raise ValueError("max_tokens must be positive")
        return max_tokens

    @field_validator("messages", mode="after")
    @classmethod
    def _readable(cls, messages: list[Message]) -> list[Message]:
        for index, message in enumerate(messages):
            if isinstance(message.content, list):
                for position, block in enumerate(message.content):
                    check_block(block, ("messages", index, "content", position))
        return messages

    @field_validator("system", mode="after")
    @classmethod
    def _text_only(cls, system: str | list[dict[str, Any]] | None) -> str | list[dict[str, Any]] | None:
        for position, block in enumerate(system if isinstance(system, list) else ()):
            if block.get("type") != "text":
                raise refused(
                    ("system", position, "type"), "literal_error", "Input should be 'text'", block.get("type")
                )
            check_block(block, ("system", position))
        return system

    @model_validator(mode="after")
    def _budget_fits(self) -> MessagesRequest:
        budget = self.thinking.budget_tokens if self.thinking and self.thinking.type == "enabled" else None
        if budget is not None and budget >= self.max_tokens:
            raise ValueError("thinking.budget_tokens must be less than max_tokens")
        return self


# What a block of a type must have, and the JSON type of it.
_REQUIRED: dict[str, tuple[tuple[str, type], ...]] = {
    "text": (("text", str),),
    "image": (("source", dict),),
    "thinking": (("thinking", str),),
    "tool_use": (("id", str), ("name", str), ("input", dict)),
    "tool_result": (("tool_use_id", str),),
    "tool_reference": (("tool_name", str),),
    "tool_addition": (("tool", dict),),
}


def check_block(block: dict[str, Any], place: tuple[str | int, ...]) -> None:
    """Refuse a content block of an unknown type, or one that lacks what its type needs.

    Raises:
        ValidationFailed: with the block's place in the body.
    """
    kind = block.get("type")
    if not isinstance(kind, str) or kind not in BLOCK_TYPES:
        raise refused((*place, "type"), "literal_error", "Input should be a known content block type", kind)
    for key, wanted in _REQUIRED.get(kind, ()):
        if not isinstance(block.get(key), wanted):
            problem = "missing" if key not in block else f"{wanted.__name__}_type"
            text = "Field required" if key not in block else f"Input should be a valid {wanted.__name__}"
            raise refused((*place, key), problem, text, block.get(key))
    if kind == "image":
        _check_source(block["source"], (*place, "source"))
    if kind == "tool_result" and isinstance(block.get("content"), list):
        for position, inner in enumerate(block["content"]):
            if not isinstance(inner, dict):
                raise refused((*place, "content", position), "dict_type", "Input should be a valid dictionary", inner)
            check_block(inner, (*place, "content", position))


def _check_source(source: dict[str, Any], place: tuple[str | int, ...]) -> None:
    needed = {"base64": ("media_type", "data"), "url": ("url",)}.get(str(source.get("type")))
    if needed is None:
        raise refused((*place, "type"), "literal_error", "Input should be 'base64' or 'url'", source.get("type"))
    for key in needed:
        if not isinstance(source.get(key), str):
            raise refused((*place, key), "string_type", "Input should be a valid string", source.get(key))
