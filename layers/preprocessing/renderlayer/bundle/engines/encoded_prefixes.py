"""Token ids of long texts that begin as one before did: only what is new is tokenized.

A conversation is rendered again and again, one turn longer. Where the tokenizer never merges over a token
(`boundaries`, proved by packing), what stands before it has the ids that it had, and what follows those that it has
alone.
"""

from __future__ import annotations

import threading
from array import array
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

Encode = Callable[[str], list[int]]

_ENTRIES, _CHARACTERS, _CUTS = 32, 8 << 20, 6


@dataclass(frozen=True)
class _Entry:
    """A text, its ids, and its last cuts: how many characters and ids end with a token that cuts."""

    text: str
    ids: array[int]
    cuts: list[tuple[int, int]]


def apart(added: Sequence[str]) -> list[str]:
    """The added tokens that stand wherever they are spelled: none is within another, and no two overlap."""
    whole = "\0".join(added)
    beginnings = {text[:end] for text in added for end in range(1, len(text))}
    endings = {text[start:] for text in added for start in range(1, len(text))}
    return [
        text
        for text in added
        if whole.count(text) == 1
        and not any(text[start:] in beginnings or text[: len(text) - start] in endings for start in range(1, len(text)))
    ]


class EncodedPrefixes:
    """The latest long texts of a process. Safe to use from several threads.

    Args:
        encode: the tokenizer's own encoding.
        boundaries: ids of the tokens that cut on both sides, each with its text.
    """

    def __init__(self, encode: Encode, boundaries: Mapping[int, str]) -> None:
        self._encode = encode
        self._boundaries = boundaries
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, _Entry] = OrderedDict()
        self._characters = 0

    def __call__(self, text: str) -> list[int]:
        """Token ids of `text`.

        Raises:
            BadRequest: the text holds a lone surrogate.
        """
        ids = self._continued(text) or self._encode(text)
        self._keep(text, ids)
        return ids

    def _continued(self, text: str) -> list[int] | None:
        with self._lock:
            entries = list(reversed(self._kept.values()))
        best, found = (0, 0), None
        for entry in entries:
            for cut in reversed(entry.cuts):
                if cut > best and text.startswith(entry.text[: cut[0]]):
                    best, found = cut, entry
                    break
        if found is None:
            return None
        characters, count = best
        anchor = found.ids[count - 1]
        behind = self._encode(self._boundaries[anchor] + text[characters:])
        return [*found.ids[:count], *behind[1:]] if behind[0] == anchor else None

    def _keep(self, text: str, ids: list[int]) -> None:
        cuts = self._cuts(text, ids)
        if not cuts:
            return
        with self._lock:
            old = self._kept.pop(text, None)
            self._kept[text] = old or _Entry(text, array("I", ids), cuts)
            self._characters += 0 if old else len(text)
            while len(self._kept) > _ENTRIES or (self._characters > _CHARACTERS and len(self._kept) > 1):
                self._characters -= len(self._kept.popitem(last=False)[0])

    def _cuts(self, text: str, ids: list[int]) -> list[tuple[int, int]]:
        """The last places at which the text can be cut, in order."""
        out: list[tuple[int, int]] = []
        end = len(text)
        for at in range(len(ids) - 1, -1, -1):
            spelled = self._boundaries.get(ids[at])
            if spelled is None:
                continue
            place = text.rfind(spelled, 0, end)
            if place < 0:
                break
            out.append((place + len(spelled), at + 1))
            end = place
            if len(out) == _CUTS:
                break
        return out[::-1]
