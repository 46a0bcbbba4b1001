"""Grammars of custom tools as regular expressions, which every engine can hold a text to (wire.md 11.1).

`regex` is read as Python reads it, `lark` where its rules do not lead back to themselves, as in patches of files. What
else there is (look-around, references, `%ignore`, recursion) has no such expression.
"""

from __future__ import annotations

import re
from functools import lru_cache
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any

Ranges = list[tuple[int, int]]

MAX_LENGTH = 20_000
_TOP = 0x10FFFF
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}
_COMMON = {
    "LF": r"\n",
    "CR": r"\r",
    "NEWLINE": r"(?:\r?\n)+",
    "DIGIT": "[0-9]",
    "INT": "[0-9]+",
    "SIGNED_INT": "[+-]?[0-9]+",
    "LETTER": "[A-Za-z]",
    "WORD": "[A-Za-z]+",
    "CNAME": "[A-Za-z_][A-Za-z0-9_]*",
    "WS": r"[ \t\f\r\n]+",
    "WS_INLINE": r"[ \t]+",
}
_LINE = re.compile(r"\s*(?P<name>[?!]?[A-Za-z_]\w*)(?:\.-?\d+)?\s*:(?P<body>.*)", re.DOTALL)
_BODY = re.compile(
    r"""\s*(?:(?P<text>"(?:\\.|[^"\\])*")(?P<fold>i?)|(?P<regex>/(?:\\.|[^/\\])+/)(?P<flags>[a-z]*)"""
    r"""|(?P<name>[A-Za-z_]\w*)|~\s*(?P<least>\d+)(?:\s*\.\.\s*(?P<most>\d+))?|(?P<mark>[()\[\]|?*+])|(?P<alias>->\s*\w+))""",
    re.DOTALL,
)
_CATEGORIES: dict[Any, Ranges] = {
    op.CATEGORY_DIGIT: [(48, 57)],
    op.CATEGORY_WORD: [(48, 57), (65, 90), (95, 95), (97, 122)],
    op.CATEGORY_SPACE: [(9, 13), (32, 32)],
}
_OPPOSITES = {
    op.CATEGORY_NOT_DIGIT: op.CATEGORY_DIGIT,
    op.CATEGORY_NOT_WORD: op.CATEGORY_WORD,
    op.CATEGORY_NOT_SPACE: op.CATEGORY_SPACE,
}


class _NoPattern(Exception):
    """There is no such expression."""


@lru_cache(maxsize=64)
def pattern_of(syntax: str, definition: str) -> str | None:
    """The regular expression, anchored at both ends, of the texts that a grammar describes; None where there is none.

    Example:
        >>> pattern_of("lark", 'start: "a" B+\\nB: /[0-9]/')
        '^a(?:[0-9])+$'
    """
    try:
        source = _Lark(definition).pattern() if syntax == "lark" else definition if syntax == "regex" else None
        return None if source is None else f"^{_emitted(source, False)}$"
    except (_NoPattern, RecursionError, OverflowError):
        return None


@lru_cache(maxsize=64)
def spelled_in_json(pattern: str) -> str:
    """A pattern that `pattern_of` made, for the text as it stands between the quotes of a JSON string.

    One of another make that cannot be read comes back as it is.
    """
    try:
        return f"^{_emitted(pattern, True)}$"
    except (_NoPattern, RecursionError, OverflowError):
        return pattern


def _emitted(source: str, json: bool) -> str:
    try:
        tree = _parser.parse(source)
    except re.error:
        raise _NoPattern from None
    if tree.state.flags & ~re.UNICODE:
        raise _NoPattern
    found = _sequence(list(tree), json)
    if len(found) > MAX_LENGTH:
        raise _NoPattern
    return found


def _sequence(nodes: list[Any], json: bool) -> str:
    if nodes and nodes[0] in ((op.AT, op.AT_BEGINNING), (op.AT, op.AT_BEGINNING_STRING)):
        nodes = nodes[1:]
    if nodes and nodes[-1] in ((op.AT, op.AT_END), (op.AT, op.AT_END_STRING)):
        nodes = nodes[:-1]
    return "".join(_node(kind, value, json) for kind, value in nodes)


def _node(kind: Any, value: Any, json: bool) -> str:
    if kind in (op.LITERAL, op.NOT_LITERAL, op.ANY, op.IN):
        return _set(_ranges(kind, value), json)
    if kind is op.SUBPATTERN:
        _, added, removed, inside = value
        if added or removed:
            raise _NoPattern
        return f"(?:{_sequence(list(inside), json)})"
    if kind is op.BRANCH:
        return f"(?:{'|'.join(_sequence(list(way), json) for way in value[1])})"
    if kind in (op.MAX_REPEAT, op.MIN_REPEAT):
        least, most, inside = value
        times = {(0, 1): "?", (0, op.MAXREPEAT): "*", (1, op.MAXREPEAT): "+"}.get((least, most))
        if times is None:
            times = f"{{{least},{'' if most is op.MAXREPEAT else most}}}"
        return f"(?:{_sequence(list(inside), json)}){times}"
    raise _NoPattern


def _ranges(kind: Any, value: Any) -> Ranges:
    """The characters that a node matches."""
    if kind is op.LITERAL:
        return [(value, value)]
    if kind is op.NOT_LITERAL:
        return _without([(value, value)])
    if kind is op.ANY:
        return _without([(10, 10)])
    if kind is op.RANGE:
        return [value]
    if kind is op.CATEGORY:
        return _without(_CATEGORIES[_OPPOSITES[value]]) if value in _OPPOSITES else _CATEGORIES.get(value) or _fail()
    if kind is not op.IN:
        raise _NoPattern
    negated = value[0] == (op.NEGATE, None)
    found = [each for entry in value[negated:] for each in _ranges(*entry)]
    return _without(found) if negated else found


def _fail() -> Ranges:
    raise _NoPattern


def _without(taken: Ranges) -> Ranges:
    """All other characters."""
    out, at = [], 0
    for low, high in sorted([*taken, (0xD800, 0xDFFF)]):
        if low > at:
            out.append((at, low - 1))
        at = max(at, high + 1)
    return [*out, (at, _TOP)] if at <= _TOP else out


def _set(ranges: Ranges, json: bool) -> str:
    """One of the characters, in JSON some of them escaped."""
    ways = []
    if json:
        special = [char for char in _ESCAPES if any(low <= ord(char) <= high for low, high in ranges)]
        ways = [re.escape(_ESCAPES[char]) for char in special]
        kept = _without([(0, 31), (34, 34), (92, 92)])
        ranges = [
            (max(low, start), min(high, end))
            for low, high in ranges
            for start, end in kept
            if max(low, start) <= min(high, end)
        ]
    if ranges:
        single = len(ranges) == 1 and ranges[0][0] == ranges[0][1]
        ways.append(_char(ranges[0][0]) if single else f"[{''.join(map(_range, sorted(ranges)))}]")
    if not ways:
        raise _NoPattern
    return ways[0] if len(ways) == 1 else f"(?:{'|'.join(ways)})"


def _range(pair: tuple[int, int]) -> str:
    low, high = pair
    return _char(low) if low == high else f"{_char(low)}-{_char(high)}"


def _char(code: int) -> str:
    named = {9: r"\t", 10: r"\n", 12: r"\f", 13: r"\r"}.get(code)
    if named or code < 32 or code == 127:
        return named or f"\\x{code:02x}"
    return f"\\{chr(code)}" if chr(code) in r"\^$.|?*+()[]{}/-" else chr(code)


class _Lark:
    """A grammar whose rules are put into each other."""

    def __init__(self, text: str) -> None:
        self._rules: dict[str, str] = {}
        self._open: list[str] = []
        self._length = 0
        for line in _joined_lines(text):
            self._read(line)

    def pattern(self) -> str:
        """The texts of `start`."""
        return self._rule("start")

    def _read(self, line: str) -> None:
        if line.startswith("%import"):
            words = line.removeprefix("%import").replace("->", " ").split()
            name = words[0].removeprefix("common.")
            if not words[0].startswith("common.") or name not in _COMMON:
                raise _NoPattern
            self._rules[words[-1].removeprefix("common.")] = f"/{_COMMON[name]}/"
            return
        rule = _LINE.fullmatch(line)
        if rule is None:
            raise _NoPattern
        self._rules[rule["name"].lstrip("?!")] = rule["body"]

    def _rule(self, name: str) -> str:
        if name in self._open or name not in self._rules:
            raise _NoPattern
        self._open.append(name)
        found = self._body(self._rules[name])
        self._open.pop()
        self._length += len(found)
        if self._length > 8 * MAX_LENGTH:
            raise _NoPattern
        return found

    def _body(self, body: str) -> str:
        out, at = [], 0
        body = body.rstrip()
        while at < len(body):
            part = _BODY.match(body, at)
            if part is None:
                raise _NoPattern
            at = part.end()
            out.append(self._part(part))
        return "".join(out)

    def _part(self, part: re.Match[str]) -> str:
        if part["text"]:
            if part["fold"]:
                raise _NoPattern
            return f"(?:{re.escape(_unquoted(part['text']))})"
        if part["regex"]:
            if part["flags"]:
                raise _NoPattern
            return f"(?:{part['regex'][1:-1]})"
        if part["name"]:
            return f"(?:{self._rule(part['name'])})"
        if part["least"]:
            return f"{{{part['least']},{part['most'] or part['least']}}}"
        return {"(": "(?:", "[": "(?:", "]": ")?", None: ""}.get(part["mark"], part["mark"])


def _joined_lines(text: str) -> list[str]:
    """Rules and directives, one a line; lines that begin with `|` or white space go on, comments are dropped."""
    out: list[str] = []
    for line in text.splitlines():
        if not line.strip() or line.lstrip().startswith("//"):
            continue
        if out and (line[0].isspace() or line.startswith("|")):
            out[-1] += "\n" + line.strip()
        else:
            out.append(line.strip())
    return out


def _unquoted(text: str) -> str:
    try:
        return text[1:-1].encode("latin-1", "backslashreplace").decode("unicode_escape")
    except UnicodeDecodeError:
        raise _NoPattern from None
