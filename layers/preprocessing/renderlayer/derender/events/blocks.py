"""An answer as a row of blocks, of which one is open at a time: how the Responses and the Messages API tell it.

White space that would begin a block of text or reasoning waits until more follows, and is dropped when none does: what
stands between reasoning, calls and text is layout, no text of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from renderlayer.parsers.core.events import CallArguments, CallStart, Content, Event, Reasoning

Json = dict[str, Any]
Kind = Literal["", "reasoning", "text", "call"]
# Longer white space is output: the state must not grow with it.
_LONGEST_SPACE = 64


@dataclass(slots=True)
class Told:
    """A parser's event, and for text the logprobs of its tokens."""

    event: Event
    logprobs: list[Json] = field(default_factory=list)


@dataclass(slots=True)
class Begin:
    """A block begins; a call has an id and a name."""

    index: int
    kind: Kind
    call_id: str = ""
    name: str = ""


@dataclass(slots=True)
class More:
    """The open block goes on."""

    text: str
    logprobs: list[Json] = field(default_factory=list)


@dataclass(slots=True)
class End:
    """The open block ends; incomplete when the answer was cut off inside it."""

    complete: bool = True


Action = Begin | More | End


@dataclass
class Blocks:
    """Turns events into blocks.

    Attributes:
        count: blocks so far.
        kind: the open block's; "" for none.
        called: whether there was a call.
        space: white space that waits, its kind and its tokens' logprobs.
    """

    count: int = 0
    kind: Kind = ""
    called: bool = False
    space: str = ""
    space_kind: Kind = ""
    space_logprobs: list[Json] = field(default_factory=list)

    def step(self, told: Iterable[Told]) -> list[Action]:
        """What these events do to the row."""
        out: list[Action] = []
        for one in told:
            event = one.event
            if isinstance(event, CallStart):
                self._begin(out, "call", event.id, event.name)
                self.called = True
            elif isinstance(event, CallArguments):
                if self.kind == "call" and event.text:
                    out.append(More(event.text))
            else:
                self._text(out, "text" if isinstance(event, Content) else "reasoning", event, one.logprobs)
        return out

    def finish(self, complete: bool) -> list[Action]:
        """Close the row. An answer of nothing but white space is that white space."""
        out: list[Action] = []
        if not self.count and self.space and self.space_kind == "text":
            space, logprobs = self._taken()
            self._begin(out, "text")
            out.append(More(space, logprobs))
        if self.kind:
            out.append(End(complete))
            self.kind = ""
        return out

    def _text(self, out: list[Action], kind: Kind, event: Content | Reasoning, logprobs: list[Json]) -> None:
        text = event.text
        if not text:
            return
        waited = self.space_kind == kind
        space, earlier = self._taken()
        if kind != self.kind:
            if waited:
                text, logprobs = space + text, [*earlier, *logprobs]
            if text.isspace() and len(text) <= _LONGEST_SPACE:
                self.space, self.space_kind, self.space_logprobs = text, kind, logprobs
                return
            self._begin(out, kind)
        out.append(More(text, logprobs))

    def _begin(self, out: list[Action], kind: Kind, call_id: str = "", name: str = "") -> None:
        self._taken()  # dropped: it was layout
        if self.kind:
            out.append(End())
        out.append(Begin(self.count, kind, call_id, name))
        self.kind = kind
        self.count += 1

    def _taken(self) -> tuple[str, list[Json]]:
        taken = self.space, self.space_logprobs
        self.space, self.space_kind, self.space_logprobs = "", "", []
        return taken
