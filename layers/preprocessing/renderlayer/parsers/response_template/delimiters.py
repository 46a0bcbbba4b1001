"""Finding delimiters in text that comes in pieces, at the same places wherever it is cut."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from renderlayer.parsers.response_template.nodes import Node, Series


class Found(NamedTuple):
    """A delimiter in the text; `which` is its index among those that are watched."""

    which: int
    match: re.Match[str]


class Watch:
    """Delimiters that are looked for together: the one that begins first counts, then the longest, then the first.

    Whether one begins at a place is told only when no further text could change it.
    """

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._nodes = tuple(nodes)
        self._reach = max((node.reach for node in nodes), default=0)
        cores = [node.core if isinstance(node, Series) else node for node in nodes]
        self._lead = max((node.reach - core.reach for node, core in zip(nodes, cores, strict=True)), default=0)
        self._cores = tuple(cores)

    @cached_property
    def _any(self) -> re.Pattern[str]:
        return _compiled([node.full(named=len(self._nodes) == 1) for node in self._nodes])

    @cached_property
    def _any_core(self) -> re.Pattern[str]:
        return _compiled([node.full() for node in self._cores])

    @cached_property
    def _cut(self) -> re.Pattern[str]:
        return _compiled([node.cut() for node in self._nodes])

    @cached_property
    def _each(self) -> list[re.Pattern[str]]:
        return [re.compile(node.full(named=True), re.DOTALL) for node in self._nodes]

    def find(self, text: str, start: int, final: bool) -> Found | int:
        """The first delimiter at or after `start`, or the position up to which there is certainly none."""
        if not self._nodes:
            return len(text)
        place = self._search(text, start)
        if not final and (place is None or place.start() + self._reach >= len(text)):
            undecided = self.cut(text, start)
            if place is None or place.start() >= undecided:
                return undecided
        if place is None:
            return len(text)
        if len(self._nodes) == 1:
            return Found(0, place)
        longest, which, start = place, 0, place.start()
        for index, each in enumerate(self._each):
            match = each.match(text, start)
            if match and (longest is place or match.end() > longest.end()):
                longest, which = match, index
        return Found(which, longest)

    def _search(self, text: str, start: int) -> re.Match[str] | None:
        """The first place where a delimiter matches."""
        if not self._lead:
            return self._any.search(text, start)
        core = self._any_core.search(text, start)  # quick, where runs of white space are long
        return self._any.search(text, max(start, core.start() - self._lead)) if core else None

    def cut(self, text: str, start: int) -> int:
        """Where a delimiter begins that the end of the text cuts off; len(text) when there is none."""
        if not self._nodes:
            return len(text)
        found = self._cut.search(text, max(start, len(text) - self._reach))
        return found.start() if found else len(text)


def _compiled(ways: Sequence[str]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{way})" for way in ways), re.DOTALL)
