"""Collecting events: merging neighbours, counting calls, giving them ids."""

from __future__ import annotations

import hashlib
from typing import ClassVar, Literal

from renderlayer.parsers.core.events import CallArguments, CallStart, Content, Event, Reasoning
from renderlayer.parsers.core.resumable import Resumable

IdForm = Literal["chatcmpl", "kimi", "mistral"]
_ALPHANUMERIC = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


class Emitter(Resumable):
    """Takes text and calls from the machines and makes events of them.

    Memory: the number of calls so far, whether the last one has had argument text, the seed of ids, and the number
    from which a family that counts calls over the conversation goes on.
    """

    memory: ClassVar[tuple[str, ...]] = ("calls", "argued", "seed", "first")

    def __init__(self, seed: str = "", first: int = 0, id_form: IdForm = "chatcmpl") -> None:
        self.calls = 0
        self.argued = False
        self.seed = seed
        self.first = first
        self.id_form = id_form
        self._events: list[Event] = []
        self._kind: type[Reasoning | Content | CallArguments] = Content
        self._parts: list[str] = []

    def reasoning(self, text: str) -> None:
        self._add(Reasoning, text)

    def content(self, text: str) -> None:
        self._add(Content, text)

    def start(self, name: str, call_id: str | None = None) -> None:
        """Begin a call; without an id of the model's own it gets one in the family's form, derived from the seed."""
        self._flush()
        self._events.append(CallStart(self.calls, call_id or self._derived_id(name), name))
        self.calls += 1
        self.argued = False

    def arguments(self, text: str) -> None:
        """Add to the arguments of the call that began last."""
        if text:
            self.argued = True
            self._add(CallArguments, text)

    def take(self) -> list[Event]:
        """The events since the last time."""
        self._flush()
        events, self._events = self._events, []
        return events

    def _add(self, kind: type[Reasoning | Content | CallArguments], text: str) -> None:
        if not text:
            return
        if kind is not self._kind:
            self._flush()
            self._kind = kind
        self._parts.append(text)

    def _flush(self) -> None:
        if not self._parts:
            return
        text = "".join(self._parts)
        self._parts = []
        if self._kind is CallArguments:
            self._events.append(CallArguments(self.calls - 1, text))
        elif self._kind is Reasoning:
            self._events.append(Reasoning(text))
        else:
            self._events.append(Content(text))

    def _derived_id(self, name: str) -> str:
        if self.id_form == "kimi":
            return f"functions.{name}:{self.first + self.calls}"
        digest = hashlib.sha256(f"{self.seed}/{self.first + self.calls}".encode()).digest()
        if self.id_form == "mistral":
            return "".join(_ALPHANUMERIC[byte % len(_ALPHANUMERIC)] for byte in digest[:9])
        return f"chatcmpl-tool-{digest[:8].hex()}"
