"""The round trip of a model: every turn written, read back and compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from renderlayer.parsers import Parser, ParserNames, open_parser
from renderlayer.roundtrip.alternatives import Written, better
from renderlayer.roundtrip.conversations import answers
from renderlayer.roundtrip.harmony import HarmonyWriter
from renderlayer.roundtrip.markup import markers, thought
from renderlayer.roundtrip.mistral import MistralWriter
from renderlayer.roundtrip.reading import Sizes, Tokens, read, streamed
from renderlayer.roundtrip.turns import Turn, Writer
from renderlayer.roundtrip.verdict import Loss, losses
from renderlayer.served_model import ServedModel

Json = dict[str, Any]
PARTS = ("calls", "content", "reasoning")
Cuts = Callable[[int], Iterator[Sizes]]


def one_by_one(count: int) -> Iterator[Sizes]:
    """The chunks that packing tries: one token each, and some of several lengths."""
    yield (1,)
    yield (2, 1, 5, 3)


def examine(
    server: ServedModel,
    names: ParserNames | None = None,
    cuts: Cuts = one_by_one,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Json:
    """Write and read all turns.

    Args:
        names: the parsers to examine; None: those that were found for the model.
        cuts: the ways in which a turn of so many tokens is cut into chunks.
        progress: told how many turns are done, of how many.

    Returns:
        `tool_parser`, `reasoning_parser`: names ("": none). `calls`, `content`, `reasoning`: each `made` and `back`.
        `streams`: `read`, and `unlike` those that differ from the whole. `losses`: `part`, `case`, `lost`, `by`
        ("template" or "parser"), `reason`. `refused`: `case` and `reason` of what the template refuses. `better`: a
        pair of parsers that reads more turns wholly, and the `calls` that come back from it; or null.
    """
    facts = server.model.facts
    names = names or ParserNames(facts.tool_parser or None, facts.reasoning_parser or None)
    parser = open_parser(names, server.model)
    prompts: dict[str, list[int]] = {}
    writer = writer_for(server, names, parser, prompts)
    said = list(answers([marker for marker in markers(names) if marker != writer.stop]))
    refused: list[dict[str, str]] = []
    written: Written = []
    found: list[Loss] = []
    unlike: list[str] = []
    read_streams = 0
    for done, each in enumerate(said):
        progress(done, len(said))
        turn = writer.turn(each)
        if isinstance(turn, str):
            refused.append({"case": each.case, "reason": turn})
            continue
        tokens = Tokens(turn, writer.tools, server, prompts)
        written.append((turn, tokens))
        if parser is None:
            continue
        answer = read(parser, tokens)
        found += losses(turn, answer, writer, names)
        for sizes in cuts(len(tokens.pieces)):
            read_streams += 1
            if streamed(parser, tokens, sizes) != answer:
                unlike.append(each.case)
                break
    progress(len(said), len(said))
    made = {part: sum(_made(turn, part) for turn, _ in written) for part in PARTS}
    lost = {part: sum(loss.lost for loss in found if loss.part == part) for part in PARTS}
    back = {part: max(made[part] - lost[part], 0) if parser else 0 for part in PARTS}
    sought = not names.tool or any(loss.by == "parser" for loss in found)
    return {
        "tool_parser": names.tool or "",
        "reasoning_parser": names.reasoning or "",
        **{part: {"made": made[part], "back": back[part]} for part in PARTS},
        "streams": {"read": read_streams, "unlike": unlike},
        "losses": [loss._asdict() for loss in found],
        "refused": refused,
        "better": better(server, names, written) if sought else None,
    }


def writer_for(server: ServedModel, names: ParserNames, parser: Parser | None, prompts: dict[str, list[int]]) -> Writer:
    """A writer of turns for a pair of parsers. `prompts`: token ids of prompts by their text, which it adds to."""

    def thinks(prompt: str, kwargs: Json) -> bool:
        if prompt not in prompts:
            prompts[prompt] = server.model.tokenizer.encode(prompt)
        return parser is not None and parser.reasoning_ended(prompts[prompt], kwargs) is False

    if server.model.facts.harmony:
        return HarmonyWriter(server)
    if server.model.facts.renderer == "mistral":
        return MistralWriter(server)
    return Writer(server, thinks, thought(names))


def _made(turn: Turn, part: str) -> int:
    return len(turn.said.calls) if part == "calls" else bool(getattr(turn.said, part))
