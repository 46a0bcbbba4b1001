"""How families write their reasoning, what turns it on, and what a prompt says about where an answer begins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from renderlayer.parsers.core.markers import Markers, SpecialTokenMap, Vocabulary

_TURNS = (
    "<|im_end|>",
    "<|eot_id|>",
    "<|eot|>",
    "<end_of_turn>",
    "<turn|>",
    "<|tool_response>",
    "<seed:eos>",
    "<｜end▁of▁sentence｜>",
    "<|im_start|>",
    "<|im_end|>",
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
)
_PROMPT_WINDOW = 512


@dataclass(frozen=True, kw_only=True)
class Switch:
    """The variables that a family's templates read.

    Attributes:
        names: the variables; reasoning is on when one of those that are given is true. None: it is always on.
        default: what holds when none is given.
        null: a variable that is given as null is given, and false.
        no_effort: the reasoning effort that turns it off as well.
        by_effort: any other reasoning effort turns it on.
    """

    names: tuple[str, ...] = ()
    default: bool = True
    null: bool = False
    no_effort: str = ""
    by_effort: bool = False

    def named(self, found: tuple[str, ...]) -> Switch:
        """The switch of a model whose template was found to read these variables; none found, or none read: itself."""
        return replace(self, names=found) if found and self.names else self

    def on(self, kwargs: Mapping[str, Any]) -> bool:
        """Whether the template was asked for reasoning."""
        effort = kwargs.get("reasoning_effort")
        if self.no_effort and effort:
            if effort == self.no_effort:
                return False
            if self.by_effort:
                return True
        given = [kwargs[name] for name in self.names if name in kwargs and (self.null or kwargs[name] is not None)]
        return any(given) if given else self.default


ALWAYS = Switch()
ENABLE = Switch(names=("enable_thinking",), null=True)
EITHER = Switch(names=("thinking", "enable_thinking"))
OPT_IN = Switch(names=("thinking", "enable_thinking"), default=False)
EFFORT = Switch(names=("thinking", "enable_thinking"), null=True, no_effort="none")
NO_THINK = Switch(no_effort="no_think", by_effort=True)


@dataclass(frozen=True, kw_only=True)
class ReasoningFormat:
    """How a family writes its reasoning (wire.md 7.5).

    Attributes:
        opens, closes: the markers around it.
        ends: markers that end reasoning without belonging to it, such as the opener of a tool call, if a call follows.
        starts: an answer begins inside the reasoning.
        switch: the template's variables that turn it off; the markers are ordinary text then.
        tokens: more tokens, or those that the markers are made of.
        token_based: markers count only as tokens where the vocabulary has them; undeclared special tokens are dropped,
            and so is a closing marker directly behind another one.
        trim: white space at the end of reasoning is dropped.
        lead: what follows an opening marker and is no reasoning.
        tail: what may follow a closing marker, between white space that is dropped with it, and is no content.
        eats_space: white space after a closing marker is dropped.
        reopens: an opening marker in the content opens reasoning again, unless it is a word of the text.
        turns: the tokens that begin a turn in the family's prompts; without any, those of all families count.
        words: the `ends` as they are written, where those are tokens.
        swallowed: markers that are dropped from the content.
        prefix: nothing is separated; this is put before the content.
        ended: what render says about a prompt without markers; None where the reference says nothing.
        awaited: the template's variables that, when true, have the model think before it answers such a prompt.
    """

    opens: tuple[str, ...] = ("<think>",)
    closes: tuple[str, ...] = ("</think>",)
    ends: tuple[str, ...] = ()
    starts: bool = True
    switch: Switch = ALWAYS
    tokens: tuple[str, ...] = ()
    token_based: bool = False
    trim: bool = False
    lead: str = ""
    tail: str = ""
    eats_space: bool = False
    reopens: bool = False
    swallowed: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    turns: tuple[str, ...] = ()
    prefix: str = ""
    ended: bool | None = False
    awaited: tuple[str, ...] = ()

    @cached_property
    def starters(self) -> Markers:
        """What opens reasoning."""
        return Markers(self.opens)

    @cached_property
    def stops(self) -> Markers:
        """What ends reasoning."""
        return Markers([*self.closes, *self.ends])

    @cached_property
    def spelled_stops(self) -> Markers:
        """What ends reasoning where the calls' openers count as words, too."""
        return Markers([*self.closes, *self.ends, *self.words])

    @cached_property
    def closers(self) -> Markers:
        """What closes reasoning."""
        return Markers(self.closes)

    @cached_property
    def watched(self) -> Markers:
        """What is looked for outside the reasoning."""
        opening = self.opens if self.reopens or not self.starts else ()
        return Markers([*opening, *(self.closes if self.token_based else ()), *self.swallowed])

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

    def spelled(self, alphabet: SpecialTokenMap) -> ReasoningFormat:
        """The same format with every marker as it is searched for in `alphabet`'s text."""
        changes: dict[str, Any] = {
            name: tuple(map(alphabet.literal, getattr(self, name))) for name in ("opens", "closes", "ends", "swallowed")
        }
        return replace(self, words=self.ends, **changes)

    def first_phase(self, kwargs: Mapping[str, Any], prompt: Sequence[int] | None, vocabulary: Vocabulary) -> str:
        """The phase in which an answer begins, by the template's switches and the prompt."""
        thinks = self.switch.on(kwargs)
        is_open = self.open_in(prompt, vocabulary) if prompt else None
        if self.prefix:
            return "prefixed"
        if not thinks:
            return "done"
        if is_open or (is_open is None and self.starts):
            return "start"
        return self.outside

    def ended_in(self, prompt: Sequence[int], kwargs: Mapping[str, Any], vocabulary: Vocabulary) -> bool | None:
        """Whether an answer to the prompt begins outside the reasoning; None where nobody can say (wire.md 2.4)."""
        if self.ended is None:
            return None
        if not self.switch.on(kwargs):
            return True
        is_open = self.open_in(prompt, vocabulary)
        awaited = any(kwargs.get(name) for name in self.awaited)
        return self.ended and not awaited if is_open is None else not is_open

    def open_in(self, prompt_token_ids: Sequence[int], vocabulary: Vocabulary) -> bool | None:
        """Whether the prompt's last turn leaves reasoning open (True) or has closed it (False); None: neither."""
        added = vocabulary.added
        opens = {added[marker] for marker in self.opens if marker in added}
        closes = {added[marker] for marker in self.closes if marker in added}
        turns = {added[marker] for marker in self.turns or _TURNS if marker in added}
        if self.turns or turns.intersection(prompt_token_ids):
            closes |= {added[marker] for marker in self.ends if marker in added}
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
