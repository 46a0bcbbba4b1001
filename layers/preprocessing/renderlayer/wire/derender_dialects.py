"""`/v1/responses/derender` and `/v1/messages/derender` bodies: chat derender's, with these APIs' requests.

The reference has no such endpoints. What differs from chat: an answer has one choice, the request is always known, and
a chunk's answer is a list of the API's events.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from renderlayer.wire.common.base import Body, ListOf, parse
from renderlayer.wire.derender import RESUME_LENGTH, GenerateChunk, GenerateResponse, NonNegative, PromptFields
from renderlayer.wire.messages import MessagesRequest
from renderlayer.wire.responses import ResponsesRequest


class _Carried(BaseModel):
    """A part of an output item that comes back; what is not named here is repeated unread."""

    model_config = ConfigDict(extra="allow", strict=True)


class _Item(_Carried):
    id: str


class _Call(_Item):
    call_id: str
    name: str


class _FunctionCall(_Call):
    type: Literal["function_call"]
    arguments: str


class _CustomCall(_Call):
    type: Literal["custom_tool_call"]
    input: str


class _Text(_Carried):
    text: str


class _OutputText(_Text):
    logprobs: list[dict[str, Any]]


class _Message(_Item):
    type: Literal["message"]
    content: Annotated[list[_OutputText], Field(min_length=1, max_length=1)]


class _Reasoning(_Item):
    type: Literal["reasoning"]
    content: Annotated[list[_Text], Field(min_length=1, max_length=1)]


CARRIED_ITEMS: TypeAdapter[list[Any]] = TypeAdapter(
    ListOf[Annotated[_FunctionCall | _CustomCall | _Message | _Reasoning, Field(discriminator="type")]]
)
"""The output items of a Responses stream state."""


class EventStreamState(Body):
    """What a client carries from chunk to chunk.

    Attributes:
        resume: everything that does not grow with the output (see `renderlayer.derender.events.state`).
        output: Responses only: the output items as far as they have been told, which closing events repeat. It is as
            long as the answer; with `repeat_output` false it holds the item that is open, without its text.
    """

    resume: Annotated[str, Field(max_length=RESUME_LENGTH)]
    output: ListOf[dict[str, Any]] = Field(default_factory=list)


class Preamble(PromptFields):
    """What the body of a whole stream begins with: the fields of a call that do not change from event to event."""

    model: str | None = None
    prompt_tokens: NonNegative | None = None


class _Whole(Body):
    stream: Literal[False] = False
    generate_response: GenerateResponse


class _Chunk(Body):
    stream: Literal[True]
    generate_chunk: GenerateChunk
    stream_state: EventStreamState | None = None


class ResponsesPreamble(Preamble):
    responses_request: ResponsesRequest


class DerenderResponsesRequest(_Whole, ResponsesPreamble):
    """A whole answer."""


class DerenderResponsesStreamRequest(_Chunk, ResponsesPreamble):
    """One event of a stream. The request comes with every call, since the events that close a response repeat it.

    Attributes:
        repeat_output: whether closing events repeat what the deltas told, as the API has it. False keeps the state
            small: texts and arguments of closing events are then empty, and `response.completed` has no output.
    """

    repeat_output: bool = True


class MessagesPreamble(Preamble):
    messages_request: MessagesRequest


class DerenderMessagesRequest(_Whole, MessagesPreamble):
    """A whole answer."""


class DerenderMessagesStreamRequest(_Chunk, Preamble):
    """One event of a stream. The request is needed with the first call only."""

    messages_request: MessagesRequest | None = None


W = TypeVar("W", bound=_Whole)
C = TypeVar("C", bound=_Chunk)


def parse_responses(data: Any) -> DerenderResponsesRequest | DerenderResponsesStreamRequest:
    """Validate a body; its `stream` picks the model (absent: false).

    Raises:
        ValidationFailed: the body does not fit.
        BadRequest: a check of the request inside refused it.
    """
    return _member(DerenderResponsesRequest, DerenderResponsesStreamRequest, data)


def parse_messages(data: Any) -> DerenderMessagesRequest | DerenderMessagesStreamRequest:
    """As `parse_responses`, for Messages."""
    return _member(DerenderMessagesRequest, DerenderMessagesStreamRequest, data)


def _member(whole: type[W], chunk: type[C], data: Any) -> W | C:
    streamed = isinstance(data, dict) and data.get("stream") is True
    return parse(chunk, data) if streamed else parse(whole, data)
