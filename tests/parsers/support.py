"""Building blocks of the parser tests: vocabularies, pieces, and ways to feed them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from renderlayer.parsers import (
    Answer,
    Content,
    Conversation,
    Event,
    Parser,
    ParserNames,
    Piece,
    Reasoning,
    State,
    open_parser,
)
from renderlayer.parsers.core.message_frames import MessageFormat
from renderlayer.parsers.reasoning.formats import REASONING
from renderlayer.parsers.tool_calls.formats import TOOLS
from tests.parsers.templates import MARKERS, STANDARD, TEMPLATES

TURN = "<|im_start|>"
END_OF_TURN = "<|im_end|>"
HARMONY = ("<|start|>", "<|channel|>", "<|constrain|>", "<|message|>", "<|end|>", "<|return|>", "<|call|>")


@dataclass(frozen=True)
class Words:
    """A vocabulary of added tokens; every other token is spelled by `token_bytes` as the letter of its id."""

    added: Mapping[str, int]
    special_ids: frozenset[int]

    def token_bytes(self, token_id: int) -> bytes:
        return next((text.encode() for text, known in self.added.items() if known == token_id), chr(token_id).encode())


def vocabulary(markers: Iterable[str]) -> Words:
    """A vocabulary in which the markers are special tokens, and a turn's markers too."""
    added = {marker: 200_000 + n for n, marker in enumerate(dict.fromkeys([TURN, END_OF_TURN, *markers]))}
    return Words(added, frozenset(added.values()))


@dataclass(frozen=True)
class Facts:
    model_type: str = "test"
    tool_parser: str = "hermes"
    reasoning_parser: str = "qwen3"
    thinking_switches: Mapping[str, bool | None] = field(default_factory=dict)
    response_template: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Model:
    vocabulary: Words
    facts: Facts = field(default_factory=Facts)


def markers_of(tool: str | None, reasoning: str | None) -> list[str]:
    """All markers of a pair of formats."""
    if tool == "openai" or reasoning == "openai_gptoss":
        return list(HARMONY)
    if (tool or reasoning) in STANDARD:
        return list(MARKERS[STANDARD[tool or reasoning or ""]])
    found = TOOLS[tool].literals() if tool else []
    if reasoning:
        form = REASONING[reasoning]
        if isinstance(form, MessageFormat):
            found += form.declared()
        else:
            found += [*form.opens, *form.closes, *form.ends, *form.swallowed, form.lead, form.tail]
    return [marker for marker in dict.fromkeys(found) if marker.strip()]


def opened(
    tool: str | None,
    reasoning: str | None = None,
    tokens: Sequence[str] | None = None,
    template: Mapping[str, Any] | None = None,
) -> tuple[Parser, Words]:
    """A parser and its vocabulary, in which the markers that look like tokens are tokens, or the given texts.

    Parsers by a response template get the given one, or their own of `templates`.
    """
    words = vocabulary(tokens if tokens is not None else tokens_of(tool, reasoning))
    if template is None and (tool or reasoning) in STANDARD:
        template = TEMPLATES[STANDARD[tool or reasoning or ""]]
    parser = open_parser(ParserNames(tool, reasoning), Model(words, Facts(response_template=template or {})))
    assert parser is not None
    return parser, words


def tokens_of(tool: str | None, reasoning: str | None) -> list[str]:
    """What would be tokens: what the formats declare, and what looks like it, but no marker that is made of tokens."""
    found = markers_of(tool, reasoning)
    for form in (TOOLS.get(tool or ""), REASONING.get(reasoning or "")):
        found += getattr(form, "tokens", ())
    found = [
        marker for marker in dict.fromkeys(found) if len(marker) > 3 and marker[0] in "<[]" and marker[-1] in ">]["
    ]
    return [marker for marker in found if not any(other != marker and other in marker for other in found)]


def pieces(text: str, words: Words, sizes: Sequence[int] = (1,)) -> list[Piece]:
    """Cut a text into tokens: added tokens whole, and what is between them into parts of the given sizes in turn."""
    found: list[Piece] = []
    position = turn = 0
    while position < len(text):
        token = max((t for t in words.added if text.startswith(t, position)), key=len, default="")
        if token:
            found.append((words.added[token], token))
            position += len(token)
            continue
        end = min(len(text), position + sizes[turn % len(sizes)])
        nearest = min((at for t in words.added if (at := text.find(t, position, end + len(t))) >= 0), default=end)
        end = min(end, nearest) if nearest > position else end
        found.append((ord(text[position]), text[position:end]))
        position = end
        turn += 1
    return found


def streamed(
    parser: Parser, conversation: Conversation, tokens: Sequence[Piece], sizes: Sequence[int]
) -> tuple[list[Event], list[State]]:
    """Feed tokens in chunks of the given sizes in turn, through JSON; the events and the state after each chunk."""
    state = parser.start(conversation)
    events: list[Event] = []
    states = [state]
    position = turn = 0
    while position < len(tokens):
        end = position + sizes[turn % len(sizes)]
        fresh, state = parser.feed(json.loads(json.dumps(state)), tokens[position:end])
        events += fresh
        states.append(state)
        position, turn = end, turn + 1
    return events + parser.finish(json.loads(json.dumps(state))), states


def told(parser: Parser, events: Sequence[Event]) -> tuple[str, str, list[tuple[str, str, str]]]:
    """Reasoning, content and calls (id, name, arguments) as a stream gives them."""
    calls = [(call.id, call.name, call.arguments) for call in parser.assemble(events).calls]
    reasoning = "".join(event.text for event in events if isinstance(event, Reasoning))
    return reasoning, "".join(event.text for event in events if isinstance(event, Content)), calls


def tool(name: str, **properties: object) -> dict[str, object]:
    """A tool as a request gives it."""
    return {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": properties}}}


WEATHER = tool(
    "get_weather",
    city={"type": "string"},
    days={"type": "integer"},
    detail={"type": "boolean"},
    tags={"type": "array"},
    where={"type": "object"},
)
SEARCH = tool("search", q={"type": "string"}, n={"type": "integer"})
TIME = tool("get_time")
TOOLS_GIVEN = [WEATHER, SEARCH, TIME]


def asking(**facts: object) -> Conversation:
    """A conversation with tools and automatic choice, unless told otherwise."""
    return Conversation(**{"tools": TOOLS_GIVEN, "tool_choice": "auto", "seed": "test", **facts})  # type: ignore[arg-type]


def answered(tool_name: str | None, reasoning: str | None, text: str, **facts: object) -> Answer:
    """Parse a whole answer, given as text."""
    parser, words = opened(tool_name, reasoning)
    return parser.parse(asking(**facts), pieces(text, words))
