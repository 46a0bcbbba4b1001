"""The inside of Python's string literals → the inside of JSON's."""

from __future__ import annotations

import re
import unicodedata

from renderlayer.parsers.values.json_scan import quoted

_PREFIX = re.compile(r"""(?:[rR][bBfF]?|[bBfF][rR]?|[uU])?(?:'''|\"\"\"|'(?!'')|"(?!""))""")
_UNDECIDED = re.compile(r"""(?:[rR][bBfF]?|[bBfF][rR]?|[uU])?(?:'{0,2}|"{0,2})\Z""")
_ESCAPE = r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|N\{[^{}]{1,88}\}|[0-7]{1,3}|[^xuUN0-7])"
_PLAIN = {quote: re.compile(rf"[^\\{quote}]++") for quote in "'\""}
_ONE_ESCAPE = re.compile(_ESCAPE, re.DOTALL)
_RAW_ESCAPE = re.compile(r"\\.", re.DOTALL)
_PARTIAL_ESCAPE = re.compile(
    r"\\(?:x[0-9a-fA-F]?|u[0-9a-fA-F]{0,3}|U[0-9a-fA-F]{0,7}|N(?:\{[^{}]{0,88})?|[0-7]{1,2})?\Z"
)
_PART = re.compile(
    r"\\x([0-9a-fA-F]{2})|\\u([0-9a-fA-F]{4})|\\U([0-9a-fA-F]{8})|\\N\{([^{}]{1,88})\}|\\([0-7]{1,3})|\\(.)|([^\\]+|\\)",
    re.DOTALL,
)
_SAME_IN_JSON = re.compile(r'(?:[^"\\\x00-\x1f]++|\\["\\bfnrt]|\\u[0-9a-fA-F]{4})*+')
_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "a": "\a", "v": "\v", "\n": ""}
_QUOTABLE = "\\'\""


def prefix_of(text: str, position: int, final: bool) -> str | None:
    """What opens a string literal at `position`, prefix and quotes; "" if none stands there; None: more may tell."""
    match = _PREFIX.match(text, position)
    if not final and len(text) - position < 5 and _UNDECIDED.match(text, position):
        return None
    return match.group() if match else ""


def string_end(text: str, position: int, quote: str, raw: bool, final: bool) -> tuple[int, bool]:
    """How far the inside of a string literal goes that is open at `position`, and whether its quote stands there."""
    plain, escape = _PLAIN[quote[0]], _RAW_ESCAPE if raw else _ONE_ESCAPE
    while position < len(text):
        if text.startswith(quote, position):
            return position, True
        if text[position] == quote[0]:
            if not final and quote.startswith(text[position:]):
                return position, False
            position += 1
        elif text[position] == "\\":
            if not final and _PARTIAL_ESCAPE.match(text, position):
                return position, False
            match = escape.match(text, position)
            position = match.end() if match else position + 1
        else:
            match = plain.match(text, position)
            position = match.end() if match else position + 1
    return position, False


def spelled(text: str, raw: bool) -> str:
    """The inside of a JSON string for the inside of a Python string."""
    if raw or "\\" not in text:
        return quoted(text)
    if _SAME_IN_JSON.fullmatch(text):
        return text
    return "".join(map(_part, _PART.finditer(text)))


def _part(match: re.Match[str]) -> str:
    byte, unit, point, name, octal, simple, plain = match.groups()
    if plain is not None:
        return quoted(plain)
    if unit is not None:
        return f"\\u{unit}"
    if name is not None:
        try:
            return quoted(unicodedata.lookup(name))
        except KeyError:
            return quoted(match.group())
    if simple is not None:
        return quoted(_SIMPLE.get(simple, simple if simple in _QUOTABLE else f"\\{simple}"))
    code = int(byte or point or octal, 8 if octal is not None else 16)
    return quoted(chr(code) if code < 0x110000 else "\N{REPLACEMENT CHARACTER}")
