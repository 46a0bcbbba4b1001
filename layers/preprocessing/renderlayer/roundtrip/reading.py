"""Reading a turn back, whole and in parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from renderlayer.derender.core.detokenize import Detokenizer
from renderlayer.parsers import Answer, Conversation, Event, Parser, Piece
from renderlayer.roundtrip.turns import Turn
from renderlayer.served_model import ServedModel

Json = dict[str, Any]
Sizes = Sequence[int]
"""Numbers of tokens in a stream's chunks, one after the other, repeated."""


class Tokens:
    """A turn's tokens, as an engine would give them, and its prompt's."""

    def __init__(self, turn: Turn, tools: list[Json], server: ServedModel, prompts: dict[str, list[int]]) -> None:
        encode = server.model.tokenizer.encode
        if turn.prompt not in prompts:
            prompts[turn.prompt] = list(turn.prompt_ids) or encode(turn.prompt)
        self.prompt = prompts[turn.prompt]
        detokenizer = Detokenizer.after_prompt(server.model.vocabulary, False, self.prompt)
        self.pieces: list[Piece] = [
            (token_id, detokenizer.push(token_id)) for token_id in turn.ids or encode(turn.text)
        ]
        stop = server.model.vocabulary.added.get(turn.stop)
        if stop is not None:
            self.pieces.append((stop, ""))
        self.kwargs = turn.kwargs
        self.tools = tools

    @cached_property
    def conversation(self) -> Conversation:
        """What the parser is told of the request."""
        return Conversation(self.tools, "auto", self.kwargs, self.prompt, 0, "round trip")


def read(parser: Parser, tokens: Tokens) -> Answer:
    """Read the whole turn."""
    return parser.parse(tokens.conversation, tokens.pieces)


def streamed(parser: Parser, tokens: Tokens, sizes: Sizes) -> Answer:
    """Read the turn in chunks, and put together what they gave."""
    state = parser.start(tokens.conversation)
    events: list[Event] = []
    position = turn = 0
    while position < len(tokens.pieces):
        end = position + sizes[turn % len(sizes)]
        fresh, state = parser.feed(state, tokens.pieces[position:end])
        events += fresh
        position, turn = end, turn + 1
    return parser.assemble([*events, *parser.finish(state)])


def cuts(count: int) -> Iterator[Sizes]:
    """Every way to cut so many tokens in two, and chunks of 1, 2, 3, 5 and 7 tokens."""
    yield from ((size,) for size in (1, 2, 3, 5, 7))
    yield from ((first, count) for first in range(1, count))
