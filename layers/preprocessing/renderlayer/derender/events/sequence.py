"""One output sequence as parser events, with what the Responses and the Messages API say of them beside the text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from renderlayer.derender.core.logprobs import TokenTexts, chat_logprobs, context_after
from renderlayer.derender.core.options import Options
from renderlayer.derender.core.output import Output, OutputDecoder, StopReason, StopStringBuffer
from renderlayer.derender.core.parser_session import ParserSession
from renderlayer.derender.events.blocks import Action, Blocks, Told
from renderlayer.parsers.core.events import CallArguments, CallStart, Content, Event, Piece, Reasoning
from renderlayer.wire.derender import GenerateChoice, GenerateChunkChoice

if TYPE_CHECKING:
    from renderlayer.derender.core.prefix import SampledOutput

Json = dict[str, Any]
# Tokens that a parser may hold back before it says what they are, for whose logprobs we wait.
_MOST_WAITING = 64


@dataclass
class Counts:
    """Tokens: of the prompt, of the output, and of the output's reasoning (markers included).

    Attributes:
        cached: prompt tokens that the engine found in its cache; None: it did not say.
        silent: output tokens since the parser last said anything; they count with what it says next.
    """

    prompt: int = 0
    output: int = 0
    reasoning: int = 0
    cached: int | None = None
    silent: int = 0


@dataclass(frozen=True)
class Step:
    """What one choice of the engine adds."""

    actions: Sequence[Action]
    finish_reason: str | None
    stop_reason: StopReason


@dataclass
class EventSequence:
    """Reads an answer, in as many parts as it comes in.

    Attributes:
        hold: the decoder's own.
        parsing: reads reasoning and calls out of the text; None where no parser is configured.
        with_logprobs: whether text carries the logprobs of its tokens, reasoning's and markup's left out.
        queue: logprobs of tokens that were decoded, but whose text is held back as a possible stop string.
        waiting: texts and logprobs of tokens that the parser has read without saying anything.
        context: the last sampled ids, which later logprobs may need.
        sampled: all output, where its digest is wanted.
    """

    options: Options
    decoder: OutputDecoder
    hold: StopStringBuffer
    tokens: TokenTexts
    parsing: ParserSession | None = None
    with_logprobs: bool = False
    blocks: Blocks = field(default_factory=Blocks)
    counts: Counts = field(default_factory=Counts)
    queue: list[Json | None] = field(default_factory=list)
    waiting: list[tuple[str, Json]] = field(default_factory=list)
    context: list[int] = field(default_factory=list)
    sampled: SampledOutput | None = None

    def step(self, choice: GenerateChoice | GenerateChunkChoice) -> Step:
        """Decode and read what a choice brings."""
        finish = choice.finish_reason
        if self.with_logprobs:
            self.queue += self._logprobs(choice)
        self.counts.output += len(choice.token_ids or ())
        if self.sampled is not None:
            self.sampled.add(choice.token_ids)
        output = self.decoder.step(choice)
        told = [one for one in self._read(output, finish is not None) if self._kept(one.event)]
        actions = self.blocks.step(told)
        if finish is not None:
            actions += self.blocks.finish(complete=finish == "stop")
        return Step(actions, finish, output.stop_reason)

    def _read(self, output: Output, finished: bool) -> list[Told]:
        if not self.with_logprobs:
            return [Told(event) for event in self._events(output.pieces, finished)]
        told: list[Told] = []
        for token_id, text in output.pieces:
            row = self.queue.pop(0) if self.queue else None
            if row is not None:
                self.waiting = [*self.waiting[1 - _MOST_WAITING :], (text, row)]
            told += self._with_logprobs(self._events([(token_id, text)], False))
        return [*told, *self._with_logprobs(self._events([], True))] if finished else told

    def _with_logprobs(self, events: Sequence[Event]) -> list[Told]:
        """Events of one token. Text takes the logprobs of the tokens that it is made of; the others were markup."""
        if not events:
            return []
        rows, self.waiting = self.waiting, []
        said = [Told(event) for event in events]
        for one in said:
            if isinstance(one.event, Content):
                one.logprobs = _last(rows, len(one.event.text))
                rows = []
        return said

    def _events(self, pieces: Sequence[Piece], finished: bool) -> Sequence[Event]:
        if self.parsing is None:
            text = "".join(text for _, text in pieces)
            return [Content(text)] if text else []
        before = self.parsing.state
        events = self.parsing.step(Output(pieces, None), finished)
        self._count_reasoning(before, pieces, events)
        return events

    def _count_reasoning(self, before: Json, pieces: Sequence[Piece], events: Sequence[Event]) -> None:
        counts, length = self.counts, len(pieces)
        thoughts = [event for event in events if isinstance(event, Reasoning)]
        if not events:
            counts.silent += length
            return
        if thoughts:
            assert self.parsing is not None
            used = self.parsing.needed(before, pieces, sum(len(event.text) for event in thoughts))
            counts.reasoning += counts.silent + used
            length -= used
        counts.silent = length if len(thoughts) == len(events) else 0

    def _kept(self, event: Event) -> bool:
        if isinstance(event, (CallStart, CallArguments)):
            return self.options.keep_calls and (self.options.parallel or event.index == 0)
        return True

    def _logprobs(self, choice: GenerateChoice | GenerateChunkChoice) -> list[Json | None]:
        """A row for each token, None where the engine sent none."""
        token_ids = choice.token_ids or []
        spelled = chat_logprobs(choice.logprobs, self.tokens, self.context, self.options.candidates)
        self.context = context_after(self.context, token_ids)
        rows: list[Json | None] = [{**row} for row in (spelled and spelled["content"]) or ()]
        return [*rows, *[None] * len(token_ids)][: len(token_ids)]


def _last(rows: Sequence[tuple[str, Json]], length: int) -> list[Json]:
    """The logprobs of the last tokens that together say so many code points."""
    at = len(rows)
    while at and length > 0:
        at -= 1
        length -= len(rows[at][0])
    return [row for _, row in rows[at:]]
