"""`/v1/{chat/,}completions/derender` bodies, and the engine's answers that they carry (wire.md 5.2, 5.3, 6.1)."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Literal, TypeVar
from uuid import uuid4

from pydantic import BaseModel, Field, RootModel, ValidationError, field_validator, model_validator

from renderlayer.wire.chat import ChatCompletionRequest
from renderlayer.wire.common.base import Body, DictOf, ListOf, parse_at
from renderlayer.wire.completion import CompletionRequest

WINDOW_PIECES = 1024
CONTEXT_TOKENS = 4
RESUME_LENGTH = 1 << 18
LOWEST_LOGPROB = -9999.0

TokenId = Annotated[int, Field(ge=0)]
NonNegative = Annotated[int, Field(ge=0)]


class LogprobCandidate(Body):
    token_id: int
    logprob: float = LOWEST_LOGPROB
    rank: int | None = None


class LogprobEntry(LogprobCandidate):
    top_logprobs: ListOf[LogprobCandidate] = Field(default_factory=list)


class GenerateLogprobs(Body):
    """One entry a token; candidates with the sampled token first, then by rank."""

    content: ListOf[LogprobEntry] | None = None


class PromptLogprob(Body):
    logprob: float
    rank: int | None = None
    decoded_token: str | None = None


class GenerateUsage(Body):
    prompt_tokens: int = 0
    total_tokens: int = 0
    completion_tokens: int | None = 0
    prompt_tokens_details: dict[str, Any] | None = None
    completion_tokens_details: dict[str, Any] | None = None


class _Choice(Body):
    index: int
    stop_reason: int | str | None = None
    token_ids: ListOf[int] | None = None
    logprobs: GenerateLogprobs | None = None

    @field_validator("token_ids")
    @classmethod
    def _not_negative(cls, token_ids: list[int] | None) -> list[int] | None:
        if token_ids and min(token_ids) < 0:
            raise ValueError("token_ids must not contain negative values")
        return token_ids


class GenerateChoice(_Choice):
    """A whole choice; a finish reason that is left out is "stop", one that is null is none."""

    finish_reason: str | None = "stop"


class GenerateChunkChoice(_Choice):
    """What one event adds to one sequence; finish_reason is null until its last."""

    finish_reason: str | None = None


class _Answer(Body):
    request_id: str = Field(default_factory=lambda: uuid4().hex[:16])
    usage: GenerateUsage | None = None
    prompt_token_ids: ListOf[int] | None = None
    metrics: dict[str, Any] | None = None
    kv_transfer_params: dict[str, Any] | None = None
    output_mode: Literal["tokens"] = "tokens"


class GenerateResponse(_Answer):
    choices: ListOf[GenerateChoice]
    prompt_logprobs: ListOf[DictOf[int, PromptLogprob] | None] | None = None
    ec_transfer_params: dict[str, Any] | None = None


class GenerateChunk(_Answer):
    choices: ListOf[GenerateChunkChoice]


class DerenderStreamState(Body):
    """What a client carries from chunk to chunk, one for each output sequence.

    The reference's fields come first. `output_token_ids` and `output_chunk_lens` are its replay of the whole output:
    understood, never written. `resume` stands in their place (see `renderlayer.derender.core.state`).
    """

    prev_tokens: Annotated[ListOf[str], Field(max_length=WINDOW_PIECES)] = Field(default_factory=list)
    prefix_offset: NonNegative = 0
    read_offset: NonNegative = 0
    role_sent: bool = False
    logprob_context_token_ids: Annotated[ListOf[int], Field(max_length=CONTEXT_TOKENS)] = Field(default_factory=list)
    logprob_text_offset: NonNegative = 0
    output_token_ids: ListOf[int] = Field(default_factory=list)
    output_chunk_lens: ListOf[Annotated[int, Field(gt=0)]] = Field(default_factory=list)
    tools_streamed: bool = False
    last_tool_call_ids: ListOf[str] = Field(default_factory=list)
    resume: Annotated[str, Field(max_length=RESUME_LENGTH)] | None = None

    @model_validator(mode="after")
    def _lengths_add_up(self) -> DerenderStreamState:
        total, count = sum(self.output_chunk_lens), len(self.output_token_ids)
        if total != count:
            raise ValueError(
                f"output_chunk_lens must sum to len(output_token_ids) (got sum={total}, len(output_token_ids)={count})"
            )
        return self

    def after(self, changes: dict[str, Any]) -> dict[str, Any]:
        """The state with changes, as JSON: the reference's keys in its order, `resume` only when there is one."""
        out = {**vars(self), **changes}
        if out["resume"] is None:
            del out["resume"]
        return out


Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
SampledIds = tuple[Digest, list[NonNegative]]
"""The digest of a prompt, and what has been sampled for it so far."""


class PromptFields(Body):
    """The prompt of what is derendered; `prefix` is the digest that stands for it (wire.md 2.10)."""

    prompt_token_ids: ListOf[TokenId] | None = None
    prefix: Digest | None = None


class DerenderChatRequest(PromptFields):
    stream: Literal[False] = False
    model: str | None = None
    generate_response: GenerateResponse
    prompt_tokens: int | None = None
    chat_request: ChatCompletionRequest | None = None


class DerenderChatStreamRequest(PromptFields):
    stream: Literal[True]
    model: str | None = None
    generate_chunk: GenerateChunk
    stream_state: DerenderStreamState | None = None
    prompt_tokens: int | None = None
    chat_request: ChatCompletionRequest | None = None


class DerenderCompletionRequest(Body):
    stream: Literal[False] = False
    model: str | None = None
    generate_responses: ListOf[GenerateResponse]
    prompt_tokens: ListOf[int] | None = None
    prompt_token_ids: ListOf[ListOf[TokenId] | None] | None = None
    completion_request: CompletionRequest | None = None

    @model_validator(mode="after")
    def _one_a_response(self) -> DerenderCompletionRequest:
        for name in ("prompt_tokens", "prompt_token_ids"):
            values = getattr(self, name)
            if values is not None and len(values) != len(self.generate_responses):
                raise ValueError(
                    f"{name} length ({len(values)}) must equal "
                    f"generate_responses length ({len(self.generate_responses)})"
                )
        return self


class DerenderCompletionStreamRequest(Body):
    stream: Literal[True]
    model: str | None = None
    generate_chunk: GenerateChunk
    stream_state: DerenderStreamState | None = None
    prompt_tokens: int | None = None
    prompt_token_ids: ListOf[TokenId] | None = None
    completion_request: CompletionRequest | None = None


class ChatStreamPreamble(PromptFields):
    """What the body of a whole stream may begin with: a stream call's fields that do not change from event to event."""

    model: str | None = None
    prompt_tokens: int | None = None
    chat_request: ChatCompletionRequest | None = None


class CompletionStreamPreamble(Body):
    """As `ChatStreamPreamble`, for completions."""

    model: str | None = None
    prompt_tokens: int | None = None
    prompt_token_ids: ListOf[TokenId] | None = None
    completion_request: CompletionRequest | None = None


@cache
def _chat_body() -> type[RootModel[DerenderChatRequest | DerenderChatStreamRequest]]:
    """Both members of the union: it tells what is wrong with bodies that fit neither, and is made for the first."""
    return RootModel[DerenderChatRequest | DerenderChatStreamRequest]


@cache
def _completion_body() -> type[RootModel[DerenderCompletionRequest | DerenderCompletionStreamRequest]]:
    return RootModel[DerenderCompletionRequest | DerenderCompletionStreamRequest]


def parse_chat(data: Any) -> DerenderChatRequest | DerenderChatStreamRequest:
    """Validate a chat body; its `stream` picks the model (absent: false).

    Raises:
        ValidationFailed: the body fits neither; as the reference does, the errors of both are told.
        BadRequest: a check of the request inside refused it.
    """
    return _member(DerenderChatRequest, DerenderChatStreamRequest, data) or parse_at(_chat_body(), data).root


def parse_completion(data: Any) -> DerenderCompletionRequest | DerenderCompletionStreamRequest:
    """Like `parse_chat`, for completions."""
    member = _member(DerenderCompletionRequest, DerenderCompletionStreamRequest, data)
    return member or parse_at(_completion_body(), data).root


W = TypeVar("W", bound=BaseModel)
S = TypeVar("S", bound=BaseModel)


def _member(whole: type[W], stream: type[S], data: Any) -> W | S | None:
    """The member that `stream` names, or None when the body does not fit it: the union then finds the words."""
    try:
        if isinstance(data, dict) and data.get("stream") is True:
            return stream.model_validate(data)
        return whole.model_validate(data)
    except ValidationError:
        return None
