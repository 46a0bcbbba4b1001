"""Extended prompts that a process remembers: the next turn on one of them proves its own part only.

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
_ENTRIES, _CHARACTERS = 64, 16 << 20
"""Prompts that are remembered at most, and characters of them all."""


@dataclass(frozen=True)
class Proof:
    """A prompt that was extended.

    Attributes:
        ids: all of it.
        messages: what it holds.
        shown: the same with stand-ins in the given form.
        text: what those were written as.
        sure: characters of it up to the end of the last message.
        thoughts: for each turn of the assistant, whether there is reasoning in the ids.
    """

    ids: list[int]
    messages: list[Json]
    shown: list[Json]
    tools: list[Json] | None
    form: Form
    text: str
    sure: int
    thoughts: list[bool]


class Proofs:
    """The latest of a process, for one model. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[Any, Proof] = OrderedDict()
        self._characters = 0

    def find(self, ids: Sequence[int], messages: Sequence[Json], writer: Writer) -> Proof | None:
        """The proof that the ids hold exactly these messages."""
        key = _key(ids, writer)
        with self._lock:
            proof = self._kept.get(key)
            if proof is not None:
                self._kept.move_to_end(key)
        if proof is None or len(proof.messages) != len(messages):
            return None
        same = proof.ids == ids and proof.tools == writer.tools and proof.messages == messages
        return proof if same else None

    def keep(self, proof: Proof, writer: Writer) -> None:
        key = _key(proof.ids, writer)
        with self._lock:
            old = self._kept.pop(key, None)
            self._characters += len(proof.text) - (len(old.text) if old else 0)
            self._kept[key] = proof
            while len(self._kept) > _ENTRIES or (self._characters > _CHARACTERS and len(self._kept) > 1):
                self._characters -= len(self._kept.popitem(last=False)[1].text)


def proofs(server: ServedModel) -> Proofs:
    """For `ServedModel.derived`."""
    return Proofs()


def _key(ids: Sequence[int], writer: Writer) -> tuple[Any, ...]:
    return (writer.template_key, len(ids), tuple(ids[-32:]))
