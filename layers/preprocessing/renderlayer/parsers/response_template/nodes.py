"""What patterns are made of. Every node can be written as two expressions of `re`.

`full` matches what the node matches. `cut` matches where the end of the text stops a way of matching that has begun: as
long as it does not match at a place, no further text can change what `full` matches there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_END = r"\Z"
_NEVER = "(?!)"


class Node(ABC):
    """A part of a pattern.

    Attributes:
        least: the shortest match in characters.
        reach: the most characters that are looked at.
    """

    least: int
    reach: int

    @property
    def inner(self) -> tuple[Node, ...]:
        """The nodes that it is made of."""
        return ()

    @abstractmethod
    def full(self, named: bool = False) -> str:
        """The expression of a match; with `named`, captures are groups of their name."""

    @abstractmethod
    def cut(self) -> str:
        """The expression of a beginning that the end of the text cuts off."""

    @abstractmethod
    def spelled(self, values: Mapping[str, str]) -> str | None:
        """The shortest text that matches, with these captures; None where that cannot be told."""


@dataclass(frozen=True)
class Character(Node):
    """One character: a literal, or any of a class.

    Attributes:
        source: its expression.
        spelling: a character that can stand for all of them.
    """

    source: str
    spelling: str | None = None
    least: int = 1
    reach: int = 1

    def full(self, named: bool = False) -> str:
        return self.source

    def cut(self) -> str:
        return _END

    def spelled(self, values: Mapping[str, str]) -> str | None:
        return self.spelling


class Series(Node):
    """Parts, one after the other."""

    def __init__(self, parts: Sequence[Node]) -> None:
        self.parts = tuple(parts)
        self.least = sum(part.least for part in parts)
        self.reach = sum(part.reach for part in parts)

    @property
    def inner(self) -> tuple[Node, ...]:
        return self.parts

    @property
    def core(self) -> Node:
        """What remains without a run of one kind of characters at the beginning."""
        first = self.parts[0] if self.parts else None
        is_run = isinstance(first, Repeat) and isinstance(first.part, Character) and first.reach > 1
        return Series(self.parts[1:]) if is_run else self

    def full(self, named: bool = False) -> str:
        return "".join(part.full(named) for part in self.parts)

    def cut(self) -> str:
        before, ways = "", []
        for part in self.parts:
            ways.append(f"{before}(?:{part.cut()})")
            before += part.full()
        return "|".join(ways) or _NEVER

    def spelled(self, values: Mapping[str, str]) -> str | None:
        texts = [part.spelled(values) for part in self.parts]
        return None if None in texts else "".join(filter(None, texts))


class Choice(Node):
    """Alternatives, of which the first that matches counts."""

    def __init__(self, ways: Sequence[Node]) -> None:
        self.ways = tuple(ways)
        self.least = min(way.least for way in ways)
        self.reach = max(way.reach for way in ways)

    @property
    def inner(self) -> tuple[Node, ...]:
        return self.ways

    def full(self, named: bool = False) -> str:
        return f"(?:{'|'.join(way.full(named) for way in self.ways)})"

    def cut(self) -> str:
        return "|".join(way.cut() for way in self.ways)

    def spelled(self, values: Mapping[str, str]) -> str | None:
        return self.ways[0].spelled(values)


class Repeat(Node):
    """A part several times.

    Args:
        mode: "" greedy, "?" as few as possible, "+" without giving back.
    """

    def __init__(self, part: Node, least: int, most: int, mode: str) -> None:
        self.part = part
        self.times = (least, most)
        self.mode = mode
        self.least = least * part.least
        self.reach = most * part.reach

    @property
    def inner(self) -> tuple[Node, ...]:
        return (self.part,)

    def full(self, named: bool = False) -> str:
        least, most = self.times
        return f"(?:{self.part.full(named)}){{{least},{most}}}{self.mode}"

    def cut(self) -> str:
        most = self.times[1]
        return f"(?:{self.part.full()}){{0,{most - 1}}}(?:{self.part.cut()})" if most else _NEVER

    def spelled(self, values: Mapping[str, str]) -> str | None:
        text = self.part.spelled(values) if self.times[0] else ""
        return None if text is None else text * self.times[0]


class Capture(Node):
    """A part whose text has a name."""

    def __init__(self, name: str, part: Node) -> None:
        self.name = name
        self.part = part
        self.least, self.reach = part.least, part.reach

    @property
    def inner(self) -> tuple[Node, ...]:
        return (self.part,)

    def full(self, named: bool = False) -> str:
        return f"(?{f'P<{self.name}>' if named else ':'}{self.part.full(named)})"

    def cut(self) -> str:
        return self.part.cut()

    def spelled(self, values: Mapping[str, str]) -> str | None:
        return values[self.name] if self.name in values else self.part.spelled(values)


class Ahead(Node):
    """What must follow, or with `absent` must not, without belonging to the match."""

    def __init__(self, part: Node, absent: bool) -> None:
        self.part = part
        self.sign = "!" if absent else "="
        self.least, self.reach = 0, part.reach

    @property
    def inner(self) -> tuple[Node, ...]:
        return (self.part,)

    def full(self, named: bool = False) -> str:
        return f"(?{self.sign}{self.part.full()})"

    def cut(self) -> str:
        return self.part.cut()

    def spelled(self, values: Mapping[str, str]) -> str | None:
        return ""


class End(Node):
    """The end of the answer."""

    least, reach = 0, 0

    def full(self, named: bool = False) -> str:
        return _END

    def cut(self) -> str:
        return _END

    def spelled(self, values: Mapping[str, str]) -> str | None:
        return ""
