"""Extended prompts that a process remembers: the next turn on one of them proves its own part only (`again`).

A prompt that was extended here is known to hold its messages. If the ids, the messages, the tools and the kwargs are
the same, and the template begins with the text that it wrote then, nothing of the old part has to be looked at again.
"""

from __future__ import annotations

import threading
from array import array
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
class Extension:
    """What becomes of given ids.

    Attributes:
        suffix: the ids that belong behind them.
        ids: all of the new prompt; nobody changes them.
        features: of all media.
    """

    suffix: list[int]
    ids: array[int]
    features: Json | None = None


@dataclass(frozen=True)
class Window:
    """A conversation that stands for a longer one: what the template writes behind both is the same.

    Attributes:
        shown: its messages, with stand-ins.
        text: what they are written as.
        sure: characters of it up to the end of the last message.
        shapes: of each turn with what follows it, in order (`windows`).
        grown: turns that were added to it since it was made.
    """

    shown: list[Json]
    text: str
    sure: int
    shapes: tuple[Any, ...] = ()
    grown: int = 0


@dataclass(frozen=True)
class Proof:
    """A prompt that was extended.

    Attributes:
        ids: all of it; nobody changes them.
        messages: what it holds.
        whole: the same with stand-ins in the given form.
        thoughts: for each turn of the assistant, whether there is reasoning in the ids.
        kept: whether all of that is in the template's text.
        short: a shorter conversation that stands for it, as it was written for the last turn; None: none was.
        kinds: the shapes of its turns, each once.
    """

    ids: array[int]
    messages: list[Json]
    whole: Window
    tools: list[Json] | None
    form: Form
    thoughts: list[bool]
    kept: bool
    short: Window | None = None
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
        packed = packed_ids(ids)
        if packed is None:
            return None
        key = _key(packed, writer)
        with self._lock:
            proof = self._kept.get(key)
            if proof is not None:
                self._kept.move_to_end(key)
        if proof is None or len(proof.messages) != len(messages):
            return None
        same = (
            (proof.ids is packed or proof.ids == packed) and proof.tools == writer.tools and proof.messages == messages
        )
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


def packed_ids(ids: Sequence[int]) -> array[int] | None:
    """Ids in four bytes each; None where one does not fit."""
    if isinstance(ids, array):
        return ids
    try:
        return array("I", ids)
    except OverflowError:
        return None


def _key(ids: array[int], writer: Writer) -> tuple[Any, ...]:
    return (writer.template_key, len(ids), ids[-32:].tobytes())
