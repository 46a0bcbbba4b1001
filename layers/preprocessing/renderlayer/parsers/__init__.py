"""Output text → reasoning, content and tool calls: one incremental machine, many formats (wire.md section 7).

    parser = open_parser(ParserNames(tool="hermes", reasoning="qwen3"), model)     # cached
    state = parser.start(Conversation(tools=…, tool_choice="auto", prompt_token_ids=…, seed="chatcmpl-1:0"))
    events, state = parser.feed(state, [(151667, "<think>"), (198, "\\n"), …])      # any number of times
    events = parser.finish(state)                                                  # when finish_reason has come

`feed` takes pieces (token id, the text that this token completed) and gives events `Reasoning`, `Content`, `CallStart`,
`CallArguments`, in order; events of one kind that follow each other are merged. The state is a JSON object (dump it
with `json`: it may hold any character) that holds all that the parser knows, request facts included: nothing of the
request is needed after `start`. `feed` and `finish` refuse a state that was not made for this parser, or that is not
well-formed, with `BadRequest`. Parsing a whole answer is feeding once and finishing, so that whole and streamed agree:

    answer = parser.parse(conversation, pieces)      # Answer(reasoning, content, calls): start, feed, finish, assemble
    answer = parser.assemble(events)                 # the same from events that were collected

The state does not grow with the output. It holds at most 1,024 characters of text that waits for a decision
(`resumable.HOLD_LIMIT`: an incomplete marker or header, white space that may stand before a call, a value that is not a
string and has not ended), a few dozen bytes of memory, and for formats that convert values by schema a digest of the
tools, one to four letters for each parameter that is not a plain string. What waits longer is decided: a header becomes
text, a value that is too long to be held is streamed as the string or the JSON that it begins as. Strings, and
arguments that are written as JSON, stream as they come. A chunk costs time in its own length and in what is held.

What was said is in one of reasoning, content and calls, and the arguments of every call that was begun are one JSON
object once `finish` has been called, cut off or not; docs/parsers.md says what may stand where.

`assemble` applies what a message has and a stream cannot: the family's trimming of content when there are calls,
None for what is absent. `parser.keeps_calls(conversation)` tells whether the calls belong into the answer
(wire.md 6.5); `parser.reasoning_ended(prompt_token_ids, kwargs)` is what render puts into `reasoning_ended`
(wire.md 2.4). Filtering by `include_reasoning` and `parallel_tool_calls`, and finish reasons, are the caller's.

`open_parser` raises ConfigurationError for a name that is not built and names those that are (`TOOL_PARSERS`,
`REASONING_PARSERS`). "auto" takes the model's own; a gpt-oss model always gets the harmony parser. `hf` and `beam` are
one parser for both halves (`response_template`), which the tokenizer's response template tells how to read.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from renderlayer.parsers.core.events import (
    Answer,
    Call,
    CallArguments,
    CallStart,
    Content,
    Conversation,
    Event,
    ParserNames,
    Piece,
    Reasoning,
    State,
)

if TYPE_CHECKING:
    from renderlayer.parsers.parser import Parser
    from renderlayer.parsers.registry import REASONING_PARSERS, TOOL_PARSERS, open_parser

__all__ = [
    "REASONING_PARSERS",
    "TOOL_PARSERS",
    "Answer",
    "Call",
    "CallArguments",
    "CallStart",
    "Content",
    "Conversation",
    "Event",
    "Parser",
    "ParserNames",
    "Piece",
    "Reasoning",
    "State",
    "open_parser",
]

_LAZY = {"Parser": "parser", "open_parser": "registry", "REASONING_PARSERS": "registry", "TOOL_PARSERS": "registry"}


def __getattr__(name: str) -> Any:
    """Load the formats when they are first asked for: rendering needs none of them."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
