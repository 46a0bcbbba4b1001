"""Finding markers in text that comes in pieces, holding back what may turn out to be the start of one."""

from __future__ import annotations

import re
from collections.abc import Iterable


class Markers:
    """A set of literal markers, searched for together; where two begin at one place the longer one wins.

    The empty string is no marker.
    """

    def __init__(self, literals: Iterable[str]) -> None:
        self.literals = tuple(sorted(filter(None, set(literals)), key=len, reverse=True))
        self.longest = max(map(len, self.literals), default=0)
        self.pattern = re.compile("|".join(map(re.escape, self.literals)) or r"(?!)")
        self._prefixes = {literal[:n] for literal in self.literals for n in range(1, len(literal))}
        self._longest = max(map(len, self._prefixes), default=0)
        first = "".join({re.escape(prefix[0]) for prefix in self._prefixes})
        self._first = re.compile(f"[{first}]" if first else r"(?!)")

    def find(self, text: str, start: int) -> re.Match[str] | None:
        """The first marker at or after `start`."""
        return self.pattern.search(text, start)

    def at(self, text: str, start: int) -> str | None:
        """The marker that begins at `start`, if one does."""
        match = self.pattern.match(text, start)
        return match.group() if match else None

    def safe_end(self, text: str, start: int) -> int:
        """Where the longest end of `text` begins that more text could make a marker; len(text) if there is none."""
        position = max(start, len(text) - self._longest)
        while match := self._first.search(text, position):
            position = match.start()
            if text[position:] in self._prefixes:
                return position
            position += 1
        return len(text)

    def may_begin(self, text: str, start: int) -> bool:
        """Whether all of `text` from `start` on is an incomplete marker."""
        return len(text) - start <= self._longest and text[start:] in self._prefixes
