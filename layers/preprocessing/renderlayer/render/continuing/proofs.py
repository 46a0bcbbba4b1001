"""Extended prompts that a process remembers: the next turn on one of them proves its own part only (`again`).

A prompt that was extended here is known to hold its messages. If the ids, the messages, the tools and the kwargs are
the same, and the template begins with the text that it wrote then, nothing of the old part has to be looked at again.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from renderlayer.render.continuing.stand_ins import Form
from renderlayer.render.continuing.writing import Writer
from renderlayer.served_model import ServedModel

Json = dict[str, Any]
_ENTRIES, _CHARACTERS, _IDS = 64, 16 << 20, 4 << 20
"""Prompts that are remembered at most, and characters and ids of them all."""


@dataclass(frozen=True)
class Window:
    """A conversation that stands for a longer one: what the template writes behind both is the same.

    Attributes:
        shown: its messages, with stand-ins.
        text: what they are written as.
        sure: characters of it up to the end of the last message.
    """

    shown: list[Json]
    text: str
    sure: int


@dataclass(frozen=True)
class Proof:
    """A prompt that was extended.

    Attributes:
        ids: all of it; nobody else changes this list.
        messages: what it holds.
        whole: the same with stand-ins in the given form.
        thoughts: for each turn of the assistant, whether there is reasoning in the ids.
        kept: whether all of that is in the template's text.
        short: a shorter conversation that stands for it, as it was written for the last turn; None: none was.
        shapes: of each turn with what follows it, in order (`windows`).
        kinds: those shapes, each once.
    """

    ids: list[int]
    messages: list[Json]
    whole: Window
    tools: list[Json] | None
    form: Form
    thoughts: list[bool]
    kept: bool
    short: Window | None = None
    shapes: tuple[Any, ...] = ()
    kinds: frozenset[Any] = frozenset()


class Proofs:
    """The latest of a process, for one model. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[Any, Proof] = OrderedDict()
        self._characters = 0
        self._ids = 0

    def find(self, ids: Sequence[int], messages: Sequence[Json], writer: Writer) -> Proof | None:
        """The proof that the ids hold exactly these messages."""
        key = _key(ids, writer)
        with self._lock:
            proof = self._kept.get(key)
            if proof is not None:
                self._kept.move_to_end(key)
        if proof is None or len(proof.messages) != len(messages):
            return None
        same = (proof.ids is ids or proof.ids == ids) and proof.tools == writer.tools and proof.messages == messages
        return proof if same else None

    def keep(self, proof: Proof, writer: Writer) -> None:
        key = _key(proof.ids, writer)
        with self._lock:
            if key in self._kept:
                self._drop(self._kept.pop(key))
            self._kept[key] = proof
            self._characters += len(proof.whole.text)
            self._ids += len(proof.ids)
            while len(self._kept) > 1 and (
                len(self._kept) > _ENTRIES or self._characters > _CHARACTERS or self._ids > _IDS
            ):
                self._drop(self._kept.popitem(last=False)[1])

    def _drop(self, proof: Proof) -> None:
        self._characters -= len(proof.whole.text)
        self._ids -= len(proof.ids)


def proofs(server: ServedModel) -> Proofs:
    """For `ServedModel.derived`."""
    return Proofs()


def _key(ids: Sequence[int], writer: Writer) -> tuple[Any, ...]:
    return (writer.template_key, len(ids), tuple(ids[-32:]))
