"""What the steps of a render hand to each other: options in, a prompt out."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from renderlayer.render.dialect import Dialect
from renderlayer.wire.common.sampling import MmPayload

Offsets = list[tuple[int, int]]


@dataclass(frozen=True)
class TokenizeOptions:
    """How a request wants its prompt tokenized.

    Attributes:
        truncate: truncate_prompt_tokens; -1 leaves room for one output token.
        side: which end is cut away; None is the tokenizer's own truncation, on the left.
        keep_all: -1 keeps the whole context (completions that ask for no output).
        offsets: whether token_offsets are wanted.
    """

    add_special_tokens: bool
    truncate: int | None = None
    side: str | None = None
    keep_all: bool = False
    offsets: bool = False


@dataclass(frozen=True)
class Prompt:
    """A tokenized conversation.

    Attributes:
        token_ids: placeholders of media expanded; packed where only what was appended is answered (`continuing`).
        offsets: (start, end) in code points of the templated text; None with media, or when nobody asked.
        features: the wire's features object, or None without media.
        history_tool_calls: tool calls in the assistant messages.
    """

    token_ids: list[int] | array[int]
    offsets: Offsets | None = None
    features: dict[str, Any] | None = None
    history_tool_calls: int = 0


@dataclass(frozen=True)
class MediaOptions:
    """How media are read and what of them is sent.

    Attributes:
        payload: tensors, none, reference or auto.
        io_kwargs, processor_kwargs: options of the request, already trusted.
    """

    payload: MmPayload = "tensors"
    io_kwargs: dict[str, Any] | None = None
    processor_kwargs: dict[str, Any] | None = None


@dataclass(frozen=True)
class ChatParams:
    """A conversation to be rendered.

    Attributes:
        messages: chat messages, already checked.
        tools: tool objects, or None.
        kwargs: the effective template kwargs.
        effort: the request's reasoning effort, after the server's map.
        limited: whether the context length binds (/tokenize has no limit).
        dialect: the API that the messages came through.
    """

    messages: Sequence[dict[str, Any]]
    tools: list[dict[str, Any]] | None
    kwargs: dict[str, Any]
    options: TokenizeOptions
    media: MediaOptions
    effort: str | None
    limited: bool
    dialect: Dialect
