"""Answers of the OpenAI endpoints, as models of the API's description; `derender` makes them as plain data, whose
types (`renderlayer.wire.answers`) have the same keys."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from renderlayer.wire.derender import DerenderStreamState, PromptLogprob
from renderlayer.wire.generate import GenerateRequest


class DescribedAnswer(BaseModel):
    """What comes back, key for key."""

    model_config = ConfigDict(extra="forbid", protected_namespaces=())


class Continuation(DescribedAnswer):
    """What became of `continue_from`: `kept` of the given ids begin the prompt, `appended` ids follow them."""

    mode: Literal["extended", "rendered"]
    reason: str | None = Field(description="Why the prompt was rendered anew.")
    kept: int
    appended: int


class RenderedPrompt(GenerateRequest):
    """What an engine generates from; `continuation` only where the request has `continue_from`."""

    continuation: Continuation | None = None
    prefix: str | None = Field(default=None, description="Stands for the prompt in `continue_from` and for derender.")
    token_spans: list[tuple[int, int, int, str]] | None = Field(
        default=None, description="Start and end of a run of tokens, index of their message, and what of it they are."
    )
    assistant_mask: list[int] | None = Field(default=None, description="1 for tokens that a model would have sampled.")
    mixed_tokens: int | None = Field(default=None, description="Tokens that are of two parts, and so of none.")


class Usage(DescribedAnswer):
    """Token counts."""

    prompt_tokens: int
    total_tokens: int
    completion_tokens: int
    prompt_tokens_details: dict[str, Any] | None
    completion_tokens_details: dict[str, Any] | None


class FunctionCall(DescribedAnswer):
    name: str
    arguments: str = Field(description="JSON, as the model wrote it.")


class ToolCall(DescribedAnswer):
    id: str
    type: Literal["function"]
    function: FunctionCall


class ChatMessage(DescribedAnswer):
    """The assistant's message; `tool_calls` only where there are some."""

    role: Literal["assistant"]
    content: str | None
    refusal: None
    annotations: None
    audio: None
    function_call: None
    tool_calls: list[ToolCall] = Field(default_factory=list, min_length=1)
    reasoning: str | None


class TokenLogprob(DescribedAnswer):
    token: str
    logprob: float
    bytes: list[int] | None


class TokenLogprobs(TokenLogprob):
    """A token and those that the engine might have taken instead."""

    top_logprobs: list[TokenLogprob]


class ChatLogprobs(DescribedAnswer):
    content: list[TokenLogprobs] | None


class ChatChoice(DescribedAnswer):
    index: int
    message: ChatMessage
    logprobs: ChatLogprobs | None
    finish_reason: str | None
    stop_reason: int | str | None
    token_ids: list[int] | None
    routed_experts: None
    weight_versions: None


class ChatCompletion(DescribedAnswer):
    """A whole chat completion."""

    id: str
    object: Literal["chat.completion"]
    created: int
    model: str
    choices: list[ChatChoice]
    service_tier: None
    system_fingerprint: None
    usage: Usage
    prompt_logprobs: list[dict[str, PromptLogprob] | None] | None
    prompt_token_ids: list[int] | None
    prompt_text: str | None
    kv_transfer_params: dict[str, Any] | None
    ec_transfer_params: dict[str, Any] | None
    metrics: dict[str, Any] | None
    continuation: Continuation | None = None
    prefix: str | None = Field(default=None, description="Stands for prompt and output in `continue_from.prefix`.")


class FunctionDelta(DescribedAnswer):
    name: str | None = None
    arguments: str | None = None


class ToolCallDelta(DescribedAnswer):
    """What is added to the call of this index."""

    id: str | None = None
    type: Literal["function"] | None = None
    index: int
    function: FunctionDelta


class Delta(DescribedAnswer):
    """What a chunk adds to the message."""

    role: Literal["assistant"] | None = None
    content: str | None = None
    reasoning: str | None = None
    tool_calls: list[ToolCallDelta] = Field(default_factory=list)


class ChatChunkChoice(DescribedAnswer):
    index: int
    delta: Delta
    logprobs: ChatLogprobs | None = None
    finish_reason: str | None = None
    stop_reason: int | str | None = None
    token_ids: list[int] | None = None
    weight_versions: None = None


class ChatCompletionChunk(DescribedAnswer):
    """One event of a streamed chat completion."""

    id: str
    object: Literal["chat.completion.chunk"]
    created: int
    model: str
    choices: list[ChatChunkChoice]
    usage: Usage | None = None
    system_fingerprint: None = None
    prompt_token_ids: list[int] | None = None
    prompt_text: str | None = None
    metrics: dict[str, Any] | None = None
    kv_transfer_params: dict[str, Any] | None = None
    continuation: Continuation | None = None
    prefix: str | None = None


class CompletionLogprobs(DescribedAnswer):
    """Lists of equal length, an entry a token; offsets are characters of the choice's text."""

    text_offset: list[int]
    token_logprobs: list[float | None]
    tokens: list[str]
    top_logprobs: list[dict[str, float] | None]


class CompletionChoice(DescribedAnswer):
    index: int
    text: str
    logprobs: CompletionLogprobs | None
    finish_reason: str | None
    stop_reason: int | str | None
    token_ids: list[int] | None
    prompt_logprobs: list[dict[str, PromptLogprob] | None] | None
    prompt_token_ids: list[int] | None
    routed_experts: None
    weight_versions: None


class Completion(DescribedAnswer):
    """A whole text completion."""

    id: str
    object: Literal["text_completion"]
    created: int
    model: str
    choices: list[CompletionChoice]
    service_tier: None
    system_fingerprint: None
    usage: Usage
    kv_transfer_params: dict[str, Any] | None
    ec_transfer_params: dict[str, Any] | None
    metrics: dict[str, Any] | None


class CompletionChunkChoice(DescribedAnswer):
    index: int
    text: str
    logprobs: CompletionLogprobs | None = None
    finish_reason: str | None = None
    stop_reason: int | str | None = None
    token_ids: list[int] | None = None
    prompt_token_ids: list[int] | None = None
    weight_versions: None = None


class CompletionChunk(DescribedAnswer):
    """One event of a streamed text completion."""

    id: str
    object: Literal["text_completion"]
    created: int
    model: str
    choices: list[CompletionChunkChoice]
    usage: Usage | None = None
    system_fingerprint: None = None
    metrics: dict[str, Any] | None = None
    kv_transfer_params: dict[str, Any] | None = None


class DerenderedChatChunk(DescribedAnswer):
    """A chunk, and the state that goes into the next call."""

    chunk: ChatCompletionChunk
    stream_state: DerenderStreamState


class DerenderedCompletionChunk(DescribedAnswer):
    """A chunk, and the state that goes into the next call."""

    chunk: CompletionChunk
    stream_state: DerenderStreamState
