"""Another pair of parsers that reads more."""

from __future__ import annotations

from typing import NamedTuple

from renderlayer.errors import ConfigurationError
from renderlayer.parsers import ParserNames, open_parser
from renderlayer.parsers.reasoning.formats import REASONING
from renderlayer.parsers.tool_calls.formats import TOOLS
from renderlayer.roundtrip.reading import Tokens, read
from renderlayer.roundtrip.turns import Turn
from renderlayer.roundtrip.verdict import came_back
from renderlayer.served_model import ServedModel

Written = list[tuple[Turn, Tokens]]
_FEWEST = 5
"""Turns with calls after which a parser that has read none is given up."""


class Score(NamedTuple):
    """What comes back."""

    calls: int
    content: int
    reasoning: int

    def beats(self, other: Score) -> bool:
        """More in all, and nothing less."""
        return sum(self) > sum(other) and all(own >= theirs for own, theirs in zip(self, other, strict=True))


def better(server: ServedModel, names: ParserNames, written: Written) -> dict[str, str | int] | None:
    """The pair that reads most, where that is more than `names` read.

    Returns:
        `tool_parser`, `reasoning_parser` and `calls`, how many of them come back.
    """
    start = best = _score(server, names, written) or Score(0, 0, 0)
    chosen = names
    pairs = [ParserNames(tool, names.reasoning) for tool in TOOLS]
    for stage in range(2):
        if stage:
            pairs = [ParserNames(chosen.tool, reasoning) for reasoning in (None, *REASONING)]
        for pair in pairs:
            score = _score(server, pair, written)
            if score and score.calls and score.beats(best):
                best, chosen = score, pair
    if best == start:
        return None
    return {"tool_parser": chosen.tool or "", "reasoning_parser": chosen.reasoning or "", "calls": best.calls}


def _score(server: ServedModel, names: ParserNames, written: Written) -> Score | None:
    """What a pair reads; None where it cannot be combined, or reads no calls at all."""
    try:
        parser = open_parser(names, server.model)
    except ConfigurationError:
        return None
    if parser is None:
        return None
    calls = content = reasoning = tried = 0
    for turn, tokens in written:
        answer, said = read(parser, tokens), turn.said
        calls += came_back(said, answer)
        content += bool(said.content) and said.content.strip() == (answer.content or "").strip()
        reasoning += bool(said.reasoning) and said.reasoning.strip() == (answer.reasoning or "").strip()
        tried += bool(said.calls)
        if tried == _FEWEST and not calls:
            return None
    return Score(calls, content, reasoning)
