"""Answers of the Responses and Messages endpoints, as models of the API's description."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from renderlayer.http.openapi.answers import Continuation, DescribedAnswer
from renderlayer.wire.derender_dialects import EventStreamState

Json = dict[str, Any]


class OutputText(DescribedAnswer):
    type: Literal["output_text"]
    text: str
    annotations: list[Any]
    logprobs: list[Json]


class ReasoningText(DescribedAnswer):
    type: Literal["reasoning_text"]
    text: str


Status = Literal["in_progress", "completed", "incomplete"]


class OutputMessage(DescribedAnswer):
    id: str
    type: Literal["message"]
    role: Literal["assistant"]
    content: list[OutputText]
    status: Status


class ReasoningItem(DescribedAnswer):
    id: str
    type: Literal["reasoning"]
    summary: list[Any]
    content: list[ReasoningText]
    encrypted_content: None
    status: Status


class FunctionCallItem(DescribedAnswer):
    id: str
    type: Literal["function_call"]
    call_id: str
    name: str
    arguments: str
    namespace: str | None = None
    status: Status


class CustomToolCallItem(DescribedAnswer):
    id: str
    type: Literal["custom_tool_call"]
    call_id: str
    name: str
    input: str
    namespace: str | None = None
    status: Status


OutputItem = Annotated[
    OutputMessage | ReasoningItem | FunctionCallItem | CustomToolCallItem, Field(discriminator="type")
]


class ResponseUsage(DescribedAnswer):
    input_tokens: int
    input_tokens_details: dict[str, int]
    output_tokens: int
    output_tokens_details: dict[str, int]
    total_tokens: int


class Response(BaseModel):
    """A Response object; what is not named here repeats the request."""

    model_config = ConfigDict(extra="allow")

    id: str
    object: Literal["response"]
    created_at: int
    status: Literal["in_progress", "completed", "incomplete", "failed"]
    error: Json | None
    incomplete_details: Json | None
    model: str
    output: list[OutputItem] | None
    usage: ResponseUsage | None


class TextBlock(DescribedAnswer):
    type: Literal["text"]
    text: str


class ThinkingBlock(DescribedAnswer):
    type: Literal["thinking"]
    thinking: str
    signature: str


class ToolUseBlock(DescribedAnswer):
    type: Literal["tool_use"]
    id: str
    name: str
    input: Json


ContentBlock = Annotated[TextBlock | ThinkingBlock | ToolUseBlock, Field(discriminator="type")]


class MessageUsage(DescribedAnswer):
    input_tokens: int
    cache_creation_input_tokens: int | None
    cache_read_input_tokens: int | None
    output_tokens: int
    output_tokens_details: dict[str, int] | None


class AnthropicMessage(DescribedAnswer):
    """A Message object."""

    id: str
    type: Literal["message"]
    role: Literal["assistant"]
    content: list[ContentBlock]
    model: str
    stop_reason: Literal["end_turn", "max_tokens", "refusal", "stop_sequence", "tool_use"] | None
    stop_sequence: str | None
    usage: MessageUsage
    kv_transfer_params: Json | None = None
    continuation: Continuation | None = None
    prefix: str | None = None


class NamedEvent(DescribedAnswer):
    """One event of the API's stream."""

    event: str = Field(description="Its name, such as response.output_text.delta or content_block_delta.")
    data: Json


class DerenderedEvents(DescribedAnswer):
    """What a chunk became, and the state that goes into the next call."""

    events: list[NamedEvent]
    stream_state: EventStreamState


class TokenCount(DescribedAnswer):
    input_tokens: int
