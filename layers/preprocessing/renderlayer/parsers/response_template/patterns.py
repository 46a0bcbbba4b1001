"""Reading the regular expressions of response templates, as far as their matches can be told in a stream.

Understood: literals, classes, escapes such as \\s, groups and named groups, alternatives, repetitions, lookahead, `$`
and `\\Z`. A repetition without a bound is taken `RUN` times at most, so that a match has a longest length. What looks
back (`^`, `\\b`, lookbehind, backreferences) is refused: the text before a delimiter may be gone.
"""

from __future__ import annotations

import re
import warnings

from renderlayer.parsers.core.resumable import HOLD_LIMIT
from renderlayer.parsers.response_template.nodes import Ahead, Capture, Character, Choice, End, Node, Repeat, Series

RUN = 128
"""Most times that a repetition without a bound is taken."""

_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "v": "\v", "a": "\a"}
_CODES = {"x": 2, "u": 4, "U": 8}
_COUNT = re.compile(r"\{(\d{0,4})(,?)(\d{0,4})\}", re.ASCII)
_GROUP = re.compile(r"\?(?:(?P<plain>:)|(?P<ahead>[=!])|P?<(?P<name>[A-Za-z_]\w*)>)")


class PatternError(ValueError):
    """A pattern that is no regular expression, or one whose matches a stream cannot tell."""


def literal(text: str) -> Node:
    """Exactly this text."""
    return Series([Character(re.escape(character), character) for character in text])


def read_pattern(pattern: str) -> Node:
    """The parts of a regular expression.

    Raises:
        PatternError: it is none, or uses what cannot be told in a stream.
    """
    if not isinstance(pattern, str):
        raise PatternError("a pattern must be a string")
    reader = _Reader(pattern)
    node = reader.choice()
    if reader.position < len(pattern):
        raise PatternError(f"unbalanced parenthesis in {pattern!r}")
    if node.reach > HOLD_LIMIT:
        raise PatternError(f"{pattern!r} may match more than {HOLD_LIMIT} characters")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            re.compile(node.full(named=True))
    except (re.error, Warning, OverflowError) as error:
        raise PatternError(f"invalid regular expression {pattern!r}: {error}") from None
    return node


class _Reader:
    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.position = 0
        self.depth = 0

    def choice(self) -> Node:
        self.depth += 1
        if self.depth > 32:
            raise PatternError(f"groups nested too deeply in {self.pattern!r}")
        ways = [self.sequence()]
        while self.take("|"):
            ways.append(self.sequence())
        self.depth -= 1
        return ways[0] if len(ways) == 1 else Choice(ways)

    def sequence(self) -> Node:
        parts = []
        while self.position < len(self.pattern) and self.pattern[self.position] not in "|)":
            parts.append(self.repeated(self.atom()))
        return parts[0] if len(parts) == 1 else Series(parts)

    def take(self, text: str) -> bool:
        found = self.pattern.startswith(text, self.position)
        self.position += len(text) * found
        return found

    def next(self) -> str:
        if self.position == len(self.pattern):
            raise PatternError(f"{self.pattern!r} ends too early")
        self.position += 1
        return self.pattern[self.position - 1]

    def refuse(self, what: str) -> PatternError:
        return PatternError(f"{self.pattern!r}: {what} cannot be told in a stream")

    def atom(self) -> Node:
        character = self.next()
        if character == "(":
            return self.group()
        if character == "[":
            return self.character_class()
        if character == "\\":
            return self.escape()
        if character == ".":
            return Character(r"[\s\S]")
        if character == "$":
            return Ahead(Series([Repeat(literal("\n"), 0, 1, ""), End()]), absent=False)
        if character == "^":
            raise self.refuse("^")
        if character in "*+?":
            raise PatternError(f"nothing to repeat in {self.pattern!r}")
        return Character(re.escape(character), character)

    def group(self) -> Node:
        special = _GROUP.match(self.pattern, self.position)
        if special is None and self.pattern.startswith("?", self.position):
            raise self.refuse(f"({self.pattern[self.position : self.position + 3]}")
        if special:
            self.position = special.end()
        inner = self.choice()
        if not self.take(")"):
            raise PatternError(f"unbalanced parenthesis in {self.pattern!r}")
        if special and special["name"]:
            return Capture(special["name"], inner)
        if special and special["ahead"]:
            return Ahead(inner, absent=special["ahead"] == "!")
        return Choice([inner])

    def character_class(self) -> Node:
        start = self.position
        self.take("^")
        body = self.pattern[start : self.position]
        first = True
        while True:
            character = self.next()
            if character == "]" and not first:
                return Character(f"[{body}]")
            if character == "\\":
                character += self.next()
            body += r"\[" if character == "[" else character
            first = False

    def escape(self) -> Node:
        letter = self.next()
        if letter in "sSwWdD":
            return Character("\\" + letter, " " if letter == "s" else None)
        if letter in _ESCAPES:
            return Character(re.escape(_ESCAPES[letter]), _ESCAPES[letter])
        if letter in _CODES:
            digits = "".join(self.next() for _ in range(_CODES[letter]))
            try:
                character = chr(int(digits, 16))
            except (ValueError, OverflowError):
                raise PatternError(f"invalid escape in {self.pattern!r}") from None
            return Character(re.escape(character), character)
        if letter in "Zz":
            return End()
        if letter.isalnum():
            raise self.refuse("\\" + letter)
        return Character(re.escape(letter), letter)

    def repeated(self, node: Node) -> Node:
        """The node with the repetition that follows it."""
        times = self.times()
        if times is None:
            return node
        least, most, bounded = times
        if least > most or most > RUN:
            raise PatternError(f"{self.pattern!r}: a repetition of more than {RUN} times, or of none")
        if not bounded and _unbounded(node):
            raise self.refuse("a repetition of repetitions")
        mode = "?" if self.take("?") else "+" if self.take("+") else ""
        if self.times() is not None:
            raise PatternError(f"multiple repeat in {self.pattern!r}")
        return Repeat(node, least, most, mode)

    def times(self) -> tuple[int, int, bool] | None:
        """The repetition at hand: least, most, and whether it has a bound of its own."""
        for sign, least, most in (("*", 0, RUN), ("+", 1, RUN), ("?", 0, 1)):
            if self.take(sign):
                return least, most, sign == "?"
        count = _COUNT.match(self.pattern, self.position)
        if count is None or not (count[1] or count[3]):
            return None
        self.position = count.end()
        low = int(count[1] or 0)
        if not count[2]:
            return low, low, True
        return low, int(count[3] or RUN), bool(count[3])


def _unbounded(node: Node) -> bool:
    return (isinstance(node, Repeat) and node.times[1] == RUN) or any(map(_unbounded, node.inner))
