"""A conversation whose assistant turns are stand-ins, and where they are in what a template makes of it.

A stand-in has its message's form, with a mark for each text: what the template writes around it does not change, and
the marks tell where the turn begins and ends.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from renderlayer.render.continuing.refusal import NotExtended
from renderlayer.render.continuing.thoughts import thought_around

Json = dict[str, Any]
REASONING, CONTENT, CALL = "r", "c", "a"


class Form(Enum):
    """Forms of stand-ins, of which a template takes the first that it does not refuse."""

    THINKING = "every turn has reasoning, which tells whether the template keeps it"
    OWN = "reasoning where the message has it"
    SPOKEN = "content beside calls, for templates that do not write calls"
    SPARE = "a call has neither content nor more reasoning than its message"


@dataclass(frozen=True)
class Span:
    """Where a stand-in is in a text: from the first of its marks to behind the last one."""

    start: int
    end: int
    kinds: frozenset[str]


_ANY = re.compile(r"zq[0-9a-f]{12}[rca][0-9]+z")


def without_marks(text: str) -> str:
    """A text for people, such as an error of a template, with an ellipsis for each mark."""
    return _ANY.sub("…", text)


class Marks:
    """Texts that no message holds, each naming a turn and what it stands for."""

    def __init__(self) -> None:
        self._prefix = f"zq{os.urandom(6).hex()}"
        self._pattern = re.compile(self._prefix + "([rca])([0-9]+)z")

    def mark(self, kind: str, turn: int) -> str:
        return f"{self._prefix}{kind}{turn}z"

    def spans(self, text: str, turns: int) -> list[Span]:
        """The turns' spans, in order.

        Raises:
            NotExtended: the template leaves a turn out, or writes one behind a later one.
        """
        found: list[list[re.Match[str]]] = [[] for _ in range(turns)]
        for match in self._pattern.finditer(text):
            found[int(match[2])].append(match)
        if not all(found):
            raise NotExtended("the template leaves out a turn of the assistant")
        spans = [Span(row[0].start(), row[-1].end(), frozenset(match[1] for match in row)) for row in found]
        if any(spans[at].end > spans[at + 1].start for at in range(turns - 1)):
            raise NotExtended("the template writes the turns of the assistant in another order")
        return spans

    def end(self, text: str) -> int:
        """Where the last of the marks in a text ends; 0 where there is none."""
        match = self._pattern.match(text, max(0, text.rfind(self._prefix)))
        return match.end() if match else 0

    def last_span(self, text: str, turn: int, start: int) -> Span | None:
        """The span of the last turn, which begins behind `start`; None where there are marks of others."""
        found = list(self._pattern.finditer(text, start))
        if not found or any(int(match[2]) != turn for match in found):
            return None
        return Span(found[0].start(), found[-1].end(), frozenset(match[1] for match in found))


MARKS = Marks()
"""Those of this process; they never leave it."""


def with_stand_ins(messages: Sequence[Json], count: int, marks: Marks, form: Form) -> list[Json]:
    """The messages, with a stand-in for each of the assistant's among the first `count`."""
    out, turn = list(messages), 0
    for at in range(count):
        if messages[at]["role"] == "assistant":
            out[at] = stand_in(messages[at], turn, marks, form)
            turn += 1
    return out


def stand_in(message: Json, turn: int, marks: Marks, form: Form) -> Json:
    """A message of the form of `message`, with marks for its texts."""
    made = {key: value for key, value in message.items() if key not in ("reasoning", "reasoning_content")}
    calls, content = message.get("tool_calls"), marks.mark(CONTENT, turn)
    around = thought_around(message.get("content"))
    if around:  # reasoning that no parser took out
        content = f"{around[0]}\n{marks.mark(REASONING, turn)}\n{around[1]}\n\n{content}"
    elif form is Form.THINKING or message.get("reasoning") or message.get("reasoning_content"):
        made["reasoning"] = marks.mark(REASONING, turn)
    if not calls or form is Form.SPOKEN or (message.get("content") and form is not Form.SPARE):
        made["content"] = content
    elif form is Form.SPARE:
        made["content"] = None
    if calls:
        made["tool_calls"] = [_marked_call(call, marks.mark(CALL, turn)) for call in calls]
    return made


def _marked_call(call: Json, mark: str) -> Json:
    """The call with a mark as its only argument, under the name of its first one."""
    name = re.search(r'^\s*\{\s*"((?:[^"\\]|\\.)+)"\s*:', call["function"]["arguments"])
    return {
        **call,
        "function": {**call["function"], "arguments": f'{{"{name[1] if name else "text"}": "{mark}"}}'},
    }
