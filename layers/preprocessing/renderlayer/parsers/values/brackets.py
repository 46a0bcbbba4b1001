"""The brackets of a value that is written as JSON while it is read in some other notation."""

from __future__ import annotations

from renderlayer.parsers.core.resumable import Resumable

DEEPEST = 256
"""Brackets that may be open."""


class Brackets(Resumable):
    """Open brackets and separators. Whoever derives from it resets both, and names them in its memory.

    Attributes:
        stack: what is open, from the outermost bracket on.
        comma: a comma is due before what comes next.
    """

    stack: str
    comma: bool

    def separate(self, out: list[str]) -> None:
        """Write the comma that is due."""
        if self.comma:
            out.append(", ")
            self.comma = False

    def push(self, bracket: str, out: list[str]) -> None:
        """Open an object for "{", an array for any other bracket."""
        self.separate(out)
        self.stack += bracket
        out.append("{" if bracket == "{" else "[")

    def pop(self, out: list[str]) -> None:
        """Close the innermost bracket, whatever bracket was written for it."""
        out.append("}" if self.stack[-1] == "{" else "]")
        self.stack = self.stack[:-1]
        self.comma = True
