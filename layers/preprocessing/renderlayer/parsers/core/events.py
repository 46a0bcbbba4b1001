"""What goes into a parser and what comes out: the request's facts, the events, the assembled answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

Piece = tuple[int, str]
"""One generated token: its id and the text that it completed ("" while a character is incomplete, or for a stop)."""

State = dict[str, Any]
"""A parser's whole memory between two chunks: a JSON object, to be carried as it is."""


class ParserNames(NamedTuple):
    """The pair of parsers of a server; None means that the half is not configured, "auto" asks the model's facts."""

    tool: str | None = None
    reasoning: str | None = None


@dataclass(frozen=True)
class Conversation:
    """What a request says about how its answer is to be read. Needed once, by `Parser.start`.

    Attributes:
        tools: the request's tools as {type, function: {name, parameters, …}}; None or empty: none were given.
        tool_choice: "none", "auto", "required", {"type": "function", "function": {"name"}} or None (explicit null).
        chat_template_kwargs: the effective kwargs of the template, which hold the thinking switches.
        prompt_token_ids: the prompt; it decides whether reasoning is already open or closed. None: unknown.
        history_tool_calls: tool calls in the conversation so far, for families that number them through (Kimi).
        seed: what tool-call ids are derived from, such as request id and choice index: the same seed gives the same
            ids, so that a repeated chunk repeats its ids. Empty: drawn at random.
    """

    tools: Sequence[Mapping[str, Any]] | None = None
    tool_choice: str | Mapping[str, Any] | None = "none"
    chat_template_kwargs: Mapping[str, Any] = field(default_factory=dict)
    prompt_token_ids: Sequence[int] | None = None
    history_tool_calls: int = 0
    seed: str = ""

    @property
    def forced_name(self) -> str | None:
        """The function that the request names as its tool choice, if it does."""
        if isinstance(self.tool_choice, Mapping):
            return str(self.tool_choice["function"]["name"])
        return None


@dataclass
class Reasoning:
    """More text of the model's reasoning."""

    text: str


@dataclass
class Content:
    """More text of the answer."""

    text: str


@dataclass
class CallStart:
    """A tool call begins; calls begin in the order of their index, counted from 0."""

    index: int
    id: str
    name: str


@dataclass
class CallArguments:
    """More text of the arguments (JSON) of the call that began last."""

    index: int
    text: str


Event = Reasoning | Content | CallStart | CallArguments


@dataclass
class Call:
    """A tool call of an assembled answer."""

    id: str
    name: str
    arguments: str


@dataclass
class Answer:
    """A whole answer; an absent text is None."""

    reasoning: str | None
    content: str | None
    calls: list[Call]
