"""Which shorter conversation stands for a long one.

What a template writes behind a conversation does not depend on how often something of the same shape was said in it;
but for templates that count, which hold numbers and are left alone. So turns in the midst of a conversation are left
out, as long as one of each shape stays on either side of the last question. That this is so is tried on the
conversation itself, the first times and each time that it has become twice as long.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import lcm
from typing import Any

from renderlayer.bundle import ChatTemplate
from renderlayer.render.continuing.writing import Writer
from renderlayer.served_model import ServedModel

Json = dict[str, Any]
_LATEST, _SAVED, GROWN = 2, 3, 4
"""Turns that stay at a window's end, that it leaves out at least, and by which it grows before the next is made."""
_TRIALS, _KEPT = 3, 512
_BLOCK = re.compile(r"\{[{%].*?[%}]\}", re.DOTALL)
_QUOTED = re.compile(r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)\"""", re.DOTALL)
_INDENT = re.compile(r"\bindent\s*=\s*\d+")
_NUMBER = re.compile(r"(?<![\w.])\d+(?![\w.])")
_IN_CONTENT = re.compile(r"""['"](\w+)['"]\s+(?:not\s+)?in\s+[\w.\[\]'"]*(?:content|text)""")
_DELIMITER = re.compile(r"\{[{%][-+]?|[-+]?[%}]\}")
_REMAINDER = re.compile(r"%|\bdivisibleby\b|\bcycle\b|\b(?:odd|even)\b")
_DIVISOR = re.compile(r"(?:%\s*|\bdivisibleby\s*\(\s*)([1-4])\b|\b(?:odd|even)\b")
_LARGEST = 4
"""Numbers in a template up to which it cannot count further than what is tried."""


@dataclass(frozen=True)
class Words:
    """What a template's blocks say.

    Attributes:
        within: strings that it may look for within texts.
        whole: names, which texts are as a whole.
        modulus: how many of a kind make no difference to what it divides by.
    """

    within: tuple[str, ...]
    whole: frozenset[str]
    modulus: int = 1


class Windows:
    """What is known of a model's templates. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._words: dict[str, Words | None] = {}
        self._tried: dict[Any, tuple[int, int]] = {}

    def words(self, writer: Writer) -> Words | None:
        """What the template may look for in texts; None: it may count."""
        template = writer.template
        if not isinstance(template, ChatTemplate):
            return None
        source = template.source
        with self._lock:
            if source not in self._words:
                if len(self._words) >= _KEPT:
                    self._words.clear()
                self._words[source] = _words(source)
            return self._words[source]

    def is_due(self, turns: int, kinds: frozenset[Any], writer: Writer) -> bool:
        """Whether a window of such a conversation is to be tried against the whole of it.

        Args:
            kinds: the shapes of its turns.
        """
        with self._lock:
            times, longest = self._tried.get((writer.template_key, kinds), (0, 0))
        return times < _TRIALS or turns >= 2 * longest

    def holds(self, turns: int, kinds: frozenset[Any], writer: Writer) -> None:
        """The window was right."""
        key = (writer.template_key, kinds)
        with self._lock:
            if len(self._tried) >= _KEPT:
                self._tried.clear()
            times, longest = self._tried.get(key, (0, 0))
            self._tried[key] = (times + 1, max(longest, turns))

    def fails(self, writer: Writer) -> None:
        """A window was wrong: none of this template is used from now on."""
        template = writer.template
        assert isinstance(template, ChatTemplate)
        with self._lock:
            self._words[template.source] = None


def windows(server: ServedModel) -> Windows:
    """For `ServedModel.derived`."""
    return Windows()


def _words(source: str) -> Words | None:
    blocks = "\n".join(_BLOCK.findall(source))
    bare = _INDENT.sub("", _QUOTED.sub("''", blocks))
    if any(int(number) > _LARGEST for number in _NUMBER.findall(bare)):
        return None
    bare = _DELIMITER.sub("\n", bare)
    divisors = [int(found[1] or 2) for found in _DIVISOR.finditer(bare)]
    if len(divisors) != len(_REMAINDER.findall(bare)):
        return None
    found = {match[1] or match[2] or "" for match in _QUOTED.finditer(blocks)}
    found = {word for text in found for word in (text, text.strip()) if word.strip()}
    names = {word for word in found if word.isidentifier()} - set(_IN_CONTENT.findall(blocks))
    return Words(tuple(sorted(found - names)), frozenset(names), lcm(*divisors))


def shape_of(messages: Sequence[Json], words: Words) -> Any:
    """What a template can tell of messages apart from what their texts say: forms, and its own words in them."""
    return tuple(_form(message, words) for message in messages)


def _form(value: Any, words: Words) -> Any:
    if isinstance(value, str):
        told = [word for word in words.within if word in value]
        return (bool(value), bool(value.strip()), value if value in words.whole else None, *told)
    if isinstance(value, dict):
        return tuple((key, _form(entry, words)) for key, entry in value.items())
    if isinstance(value, (list, tuple)):
        return tuple(_form(entry, words) for entry in value)
    return value if value is None or isinstance(value, bool) else type(value).__name__


def turns_of(messages: Sequence[Json]) -> list[int]:
    """Where the assistant's turns are."""
    return [at for at, message in enumerate(messages) if message["role"] == "assistant"]


def window_of(
    shown: Sequence[Json], shapes: Sequence[Any], modulus: int = 1
) -> tuple[list[Json], tuple[Any, ...]] | None:
    """The messages that stand for all, and their shapes; None: not much would be left out.

    The first and the last turn of each shape stay, before and behind the last question, and the latest turns.

    Args:
        shown: all messages, with stand-ins.
        shapes: of each turn with what follows it.
        modulus: of each shape, a multiple of so many is left out.
    """
    count = len(shapes)
    turns = turns_of(shown)
    cycles = [(start, end) for start, end in pairwise([*turns, len(shown)])]
    asked = max((at for at, span in enumerate(cycles) if _asks(shown[slice(*span)])), default=-1)
    kept = {*range(count - _LATEST, count), max(asked, 0)}
    for segment in (range(asked + 1), range(asked + 1, count)):
        first: dict[Any, int] = {}
        last: dict[Any, int] = {}
        for at in segment:
            first.setdefault(shapes[at], at)
            last[shapes[at]] = at
        kept |= {*first.values(), *last.values()}
    left: dict[Any, list[int]] = {}
    for at in range(count):
        if at not in kept:
            left.setdefault(shapes[at], []).append(at)
    for dropped in left.values():
        kept.update(dropped[: len(dropped) % modulus])
    if len(kept) + _SAVED > count:
        return None
    places = sorted(kept)
    messages = [*shown[: turns[0]], *(entry for at in places for entry in shown[slice(*cycles[at])])]
    return messages, tuple(shapes[at] for at in places)


def _asks(messages: Sequence[Json]) -> bool:
    return any(message["role"] not in ("assistant", "tool", "function") for message in messages)
