"""From a choice's token ids to its text: decoding, the stop token, the stop strings (wire.md 6.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from renderlayer.derender.core.detokenize import Detokenizer
from renderlayer.derender.core.options import Options
from renderlayer.parsers.core.events import Piece
from renderlayer.served_model import ServedModel
from renderlayer.wire.derender import GenerateChoice, GenerateChunkChoice

StopReason = int | str | None


@dataclass(frozen=True)
class EndOfText:
    """The model's own end-of-text tokens: the tokenizer's, and those of generation_config.json."""

    tokenizer: int | None
    generation: frozenset[int]


def stop_token(
    finish_reason: str | None, stop_reason: StopReason, last: int | None, options: Options, ends: EndOfText
) -> tuple[bool, StopReason]:
    """Whether the last token is no text, and the stop reason to tell.

    Args:
        last: the last token id that came with the finish reason, None when none came.
    """
    if finish_reason != "stop" or isinstance(stop_reason, str) or last is None:
        return False, stop_reason
    if stop_reason is not None:
        return last == stop_reason and not options.include_stop, stop_reason
    if last == ends.tokenizer and not options.ignore_eos:
        return not options.include_stop, None
    if last in options.stop_token_ids or (last in ends.generation and not options.ignore_eos):
        return not options.include_stop, last
    return False, None


def stop_strings(finish_reason: str | None, stop_reason: StopReason, options: Options) -> Sequence[str]:
    """The strings that may cut the text. `stop_reason` is the engine's, not the one that `stop_token` found."""
    if finish_reason != "stop" or isinstance(stop_reason, int):
        return ()
    return [stop_reason] if isinstance(stop_reason, str) else options.stop


def first_match(text: str, stops: Sequence[str], beyond: int) -> tuple[int, int, str] | None:
    """The match (start, end, string) that is complete first among those that end beyond a position.

    Ties go to the string that is listed first. Positions are code points.
    """
    best: tuple[int, int, str] | None = None
    for stop in stops:
        start = text.find(stop, max(beyond - len(stop) + 1, 0)) if stop else -1
        if start >= 0 and (best is None or start + len(stop) < best[1]):
            best = (start, start + len(stop), stop)
    return best


def cut(
    texts: Sequence[str], stops: Sequence[str], min_tokens: int, include_stop: bool
) -> tuple[list[str], str | None]:
    """Cut the texts of the tokens at the first stop string.

    Args:
        texts: what each token says.
        min_tokens: matches within so many tokens do not count.
        include_stop: cut behind the match, not before it.

    Returns:
        The texts up to the cut, of which the last may be shorter than before; and the string that matched.
    """
    match = first_match("".join(texts), stops, sum(map(len, texts[: max(min_tokens, 0)]))) if stops else None
    if match is None:
        return list(texts), None
    start, end, stop = match
    room = end if include_stop else start
    kept = []
    for text in texts:
        if room <= 0:
            break
        kept.append(text[:room])
        room -= len(text)
    return kept, stop


class StopStringBuffer:
    """Holds back what may be the start of a stop string, until the finish reason says whether it is one.

    The engine stops at the first match, so a match is always at the end of the output; what is longer than the longest
    stop string before the end can go.

    Args:
        held, passed, matched: what `memory` gave, to go on where another call ended.
    """

    def __init__(self, options: Options, held: Sequence[Piece] = (), passed: int = 0, matched: bool = False) -> None:
        self._options = options
        self._room = max(map(len, options.stop), default=1) - 1
        self._passed = passed
        self._held: list[Piece] = list(held)
        self._matched = matched

    def memory(self) -> tuple[list[Piece], int, bool]:
        """The pieces held back, how many went before them, and whether a stop string is among the held."""
        return self._held, self._passed, self._matched

    @property
    def _min_tokens(self) -> int:
        return self._options.min_tokens - self._passed

    def step(
        self, pieces: Sequence[Piece], finish_reason: str | None, stop_reason: StopReason
    ) -> tuple[list[Piece], str | None]:
        """The pieces that are certain now, and with the finish reason the string that cut the text.

        Args:
            stop_reason: the engine's.
        """
        self._held += pieces
        if finish_reason is None:
            return self._certain(), None
        stops = stop_strings(finish_reason, stop_reason, self._options)
        texts, matched = cut([text for _, text in self._held], stops, self._min_tokens, self._options.include_stop)
        return [(token_id, text) for (token_id, _), text in zip(self._held, texts, strict=False)], matched

    def _certain(self) -> list[Piece]:
        if self._matched:
            return []
        texts = [text for _, text in self._held]
        options = self._options
        if cut(texts, options.stop, self._min_tokens, options.include_stop)[1] is not None:
            self._matched = True
            return []
        room = sum(map(len, texts)) - self._room
        count = 0
        for text in texts:
            room -= len(text)
            if room < 0:
                break
            count += 1
        certain, self._held = self._held[:count], self._held[count:]
        self._passed += count
        return certain


@dataclass(frozen=True)
class Output:
    """What tokens say, one by one: "" where a token completes no character or is no text."""

    pieces: Sequence[Piece]
    stop_reason: StopReason

    @property
    def text(self) -> str:
        return "".join(text for _, text in self.pieces)


class OutputDecoder:
    """Decodes one output sequence, as it comes.

    Args:
        hold: holds back stop strings; None where text is sent at once (streams of single calls).
    """

    def __init__(
        self, detokenizer: Detokenizer, options: Options, server: ServedModel, hold: StopStringBuffer | None = None
    ) -> None:
        self.detokenizer = detokenizer
        self._options = options
        self._ends = EndOfText(server.model.facts.eos_token_id, server.eos_token_ids)
        self._hold = hold

    def step(self, choice: GenerateChoice | GenerateChunkChoice) -> Output:
        """Decode what a choice brings; with its finish reason the stop token is left out."""
        token_ids = choice.token_ids or []
        last = token_ids[-1] if token_ids else None
        dropped, reason = stop_token(choice.finish_reason, choice.stop_reason, last, self._options, self._ends)
        kept = token_ids[:-1] if dropped else token_ids
        pieces = [(token_id, self.detokenizer.push(token_id)) for token_id in kept]
        if last is not None and dropped:
            pieces.append((last, ""))
        if self._hold is None:
            return Output(pieces, reason)
        certain, matched = self._hold.step(pieces, choice.finish_reason, choice.stop_reason)
        return Output(certain, reason if matched is None else matched)


def whole_output(choice: GenerateChoice, prompt: Sequence[int] | None, options: Options, server: ServedModel) -> Output:
    """Decode a whole choice and cut it at a stop string."""
    detokenizer = Detokenizer.after_prompt(server.model.vocabulary, options.skip_special, prompt)
    hold = None if choice.finish_reason is None else StopStringBuffer(options)
    return OutputDecoder(detokenizer, options, server, hold).step(choice)
