"""Separating reasoning from the rest of an answer: one machine for all formats that have markers in the text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

from renderlayer.parsers.emitter import Emitter
from renderlayer.parsers.json_scan import after_space
from renderlayer.parsers.markers import Markers
from renderlayer.parsers.phases import PhaseMachine
from renderlayer.parsers.resumable import HOLD_LIMIT
from renderlayer.parsers.tokens import Alphabet, Vocabulary
from renderlayer.parsers.tool_machine import HandOver, ToolMachine

_TURNS = (
    "<|im_start|>",
    "<|start_header_id|>",
    "<|header_start|>",
    "<｜User｜>",
    "<｜Assistant｜>",
    "<|user|>",
    "<|assistant|>",
    "<|observation|>",
    "<|im_user|>",
    "<|im_assistant|>",
    "<|im_middle|>",
    "<|start_of_role|>",
    "<start_of_turn>",
    "<|turn>",
    "<seed:bos>",
    "]~b]",
    "[/INST]",
    "<|START_OF_TURN_TOKEN|>",
    "<|hy_User|>",
    "<|hy_Assistant|>",
)
_PROMPT_WINDOW = 512

Switch = Literal["always", "unless_off", "if_on", "unless_all_off"]


@dataclass(frozen=True, kw_only=True)
class ReasoningFormat:
    """How a family writes its reasoning (wire.md 7.5).

    Attributes:
        opens, closes: the markers around it.
        ends: markers that end reasoning without belonging to it, such as the opener of a tool call.
        starts: an answer begins inside the reasoning.
        switch: how the template's `enable_thinking` and `thinking` turn it off.
        off_is_plain: turned off, the markers are ordinary text; otherwise only the start is outside.
        tokens: more tokens, or those that the markers are made of.
        token_based: markers count only as tokens where the vocabulary has them; undeclared special tokens are dropped.
        trim: white space at the end of reasoning is dropped.
        lead: what follows an opening marker and is no reasoning.
        tail: what may follow a closing marker, between white space that is dropped with it, and is no content.
        eats_space: white space after a closing marker is dropped.
        reopens: a marker in the content opens reasoning again, and a lone closing marker is dropped.
        swallowed: markers that are dropped from the content.
        prefix: nothing is separated; this is put before the content.
        ended: what render says about a prompt without markers; None where the reference says nothing.
    """

    opens: tuple[str, ...] = ("<think>",)
    closes: tuple[str, ...] = ("</think>",)
    ends: tuple[str, ...] = ()
    starts: bool = True
    switch: Switch = "always"
    off_is_plain: bool = False
    tokens: tuple[str, ...] = ()
    token_based: bool = False
    trim: bool = False
    lead: str = ""
    tail: str = ""
    eats_space: bool = False
    reopens: bool = False
    swallowed: tuple[str, ...] = ()
    prefix: str = ""
    ended: bool | None = False

    @cached_property
    def starters(self) -> Markers:
        """What opens reasoning."""
        return Markers(self.opens)

    @cached_property
    def stops(self) -> Markers:
        """What ends reasoning."""
        return Markers([*self.closes, *self.ends])

    @cached_property
    def watched(self) -> Markers:
        """What is looked for outside the reasoning."""
        reopening = (*self.opens, *self.closes) if self.reopens else () if self.starts else self.opens
        return Markers([*reopening, *self.swallowed])

    @cached_property
    def behind(self) -> str:
        """The machine's phase behind a closing marker."""
        return "closed" if self.tail or self.eats_space else self.outside

    @cached_property
    def outside(self) -> str:
        """The machine's phase outside the reasoning."""
        return "content" if self.watched.literals else "done"

    def declared(self) -> tuple[str, ...]:
        """Markers that count only as tokens."""
        return (*self.tokens, *self.opens, *self.closes, *self.ends) if self.token_based else ()

    def spelled(self, alphabet: Alphabet) -> ReasoningFormat:
        """The same format with every marker as it is searched for in `alphabet`'s text."""
        changes: dict[str, Any] = {
            name: tuple(map(alphabet.literal, getattr(self, name))) for name in ("opens", "closes", "ends", "swallowed")
        }
        return replace(self, **changes)

    def machine(self, out: Emitter, alphabet: Alphabet, tools: ToolMachine) -> Reasoner:
        """The machine that stands before `tools`; the format must be `spelled` for the alphabet."""
        return Reasoner(self, out, alphabet, tools)

    def first_phase(self, kwargs: Mapping[str, Any], prompt: Sequence[int] | None, vocabulary: Vocabulary) -> str:
        """The phase in which an answer begins, by the template's switches and the prompt."""
        thinks = self.thinks(kwargs)
        is_open = self.open_in(prompt, vocabulary) if prompt else None
        if self.prefix:
            return "prefixed"
        if not thinks and self.off_is_plain:
            return "done"
        if is_open or (is_open is None and thinks and self.starts):
            return "start"
        return self.outside

    def ended_in(self, prompt: Sequence[int], kwargs: Mapping[str, Any], vocabulary: Vocabulary) -> bool | None:
        """Whether an answer to the prompt begins outside the reasoning; None where nobody can say (wire.md 2.4)."""
        if self.ended is None:
            return None
        if self.off_is_plain and not self.thinks(kwargs):
            return True
        is_open = self.open_in(prompt, vocabulary)
        return self.ended if is_open is None else not is_open

    def thinks(self, kwargs: Mapping[str, Any]) -> bool:
        """Whether the template was asked for reasoning."""
        given = [kwargs[name] for name in ("thinking", "enable_thinking") if kwargs.get(name) is not None]
        if self.switch == "unless_off":
            return all(given)
        if self.switch == "if_on":
            return any(given)
        return self.switch == "always" or len(given) < 2 or any(given)

    def open_in(self, prompt_token_ids: Sequence[int], vocabulary: Vocabulary) -> bool | None:
        """Whether the prompt's last turn leaves reasoning open (True) or has closed it (False); None: neither."""
        added = vocabulary.added
        opens = {added[marker] for marker in self.opens if marker in added}
        closes = {added[marker] for marker in self.closes if marker in added}
        turns = {added[marker] for marker in _TURNS if marker in added}
        last = len(prompt_token_ids)
        for token_id in reversed(prompt_token_ids):
            if token_id in closes:
                return False
            if token_id in opens:
                return True
            if token_id in turns:
                break
            last -= 1
        if opens and closes:
            return None
        tail = prompt_token_ids[max(last, len(prompt_token_ids) - _PROMPT_WINDOW) :]
        text = b"".join(map(vocabulary.token_bytes, tail))
        opened = max((text.rfind(marker.encode()) for marker in self.opens), default=-1)
        closed = max((text.rfind(marker.encode()) for marker in self.closes), default=-1)
        return None if opened == closed else opened > closed


class Reasoner(PhaseMachine):
    """Gives reasoning to the emitter and hands everything else to the tool machine.

    Phases: start (an opening marker may come) → led (its lead may come) → inside → closed, spaced (what follows the
    closing marker) → content (looks for markers) or done (looks no more).
    """

    phases: ClassVar[tuple[str, ...]] = ("start", "led", "inside", "closed", "spaced", "content", "done", "prefixed")

    def __init__(self, form: ReasoningFormat, out: Emitter, alphabet: Alphabet, tools: ToolMachine) -> None:
        super().__init__()
        self.form = form
        self.out = out
        self._rest = HandOver(tools)
        self._readable = alphabet.declared if form.token_based else alphabet.plain

    def feed(self, text: str, final: bool = False) -> None:
        super().feed(text, final)
        self._rest.flush(final)

    def start(self) -> bool:
        """Phase: at the beginning, where an opening marker may stand."""
        position = after_space(self.text, self.position)
        opener = self.form.starters.at(self.text, position)
        if opener:
            self.position = position + len(opener)
            self.phase = "led"
            return True
        waits = position == len(self.text) or self.form.starters.may_begin(self.text, position)
        if waits and not self.final and len(self.text) - self.position < HOLD_LIMIT:
            return False
        self.phase = "inside"
        return True

    def led(self) -> bool:
        """Phase: behind an opening marker."""
        lead = self.form.lead
        rest = self.text[self.position : self.position + len(lead)]
        if rest == lead:
            self.position += len(lead)
        elif lead.startswith(rest) and not self.final:
            return False
        self.phase = "inside"
        return True

    def inside(self) -> bool:
        """Phase: in the reasoning."""
        stop = self.form.stops.find(self.text, self.position)
        if stop:
            self._reason(stop.start(), ended=True)
            self.position = stop.start()
            if stop.group() in self.form.closes:
                self.position = stop.end()
            self.phase = self.form.behind
            return True
        self._reason(self.safe_end(self.form.stops), ended=self.final)
        return False

    def _reason(self, end: int, ended: bool) -> None:
        """Give reasoning up to `end` out, except white space that may turn out to be its end."""
        kept = end
        if self.form.trim:
            window = self.text[max(self.position, end - HOLD_LIMIT) : end]
            kept -= len(window) - len(window.rstrip())
        self._rest.flush()
        self.out.reasoning(self._readable(self.text[self.position : kept]))
        self.position = end if ended else kept

    def closed(self) -> bool:
        """Phase: behind a closing marker, where the format's tail may follow."""
        tail = self.form.tail
        position = after_space(self.text, self.position)
        rest = self.text[position : position + len(tail)]
        if tail or self.form.eats_space:
            waits = position == len(self.text) or (rest != tail and tail.startswith(rest))
            if waits and not self.final and len(self.text) - self.position < HOLD_LIMIT:
                return False
        if tail and rest == tail:
            self.position = position + len(tail)
        self.phase = "spaced" if self.form.eats_space else self.form.outside
        return True

    def spaced(self) -> bool:
        """Phase: behind a closing marker and its tail, where white space is dropped."""
        self.position = after_space(self.text, self.position)
        if self.position == len(self.text):
            return False
        self.phase = self.form.outside
        return True

    def content(self) -> bool:
        """Phase: outside, where markers may stand."""
        found = self.form.watched.find(self.text, self.position)
        if not found:
            end = self.safe_end(self.form.watched)
            self._pass(end)
            return False
        self._pass(found.start())
        self.position = found.end()
        if found.group() in self.form.opens:
            self.phase = "led" if self.form.lead else "inside"
        return True

    def prefixed(self) -> bool:
        """Phase: before the first text, which gets the format's prefix."""
        self._rest.add(self.form.prefix)
        self.phase = "done"
        return True

    def done(self) -> bool:
        """Phase: outside for good."""
        self._pass(len(self.text))
        return False

    def _pass(self, end: int) -> None:
        self._rest.add(self.text[self.position : end])
        self.position = end
