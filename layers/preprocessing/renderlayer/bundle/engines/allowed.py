"""What templates of requests may call, and the guards of calls whose result could be huge.

A guard gets the arguments of the call, and raises BadRequest when the result would be too large.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from renderlayer.bundle.engines.budget import current, limit_text, limit_width
from renderlayer.bundle.engines.formatting import guard_percent
from renderlayer.errors import BadRequest

Guard = Callable[..., None]


def _replace(value: Any, old: Any, new: Any, *rest: Any, **kwargs: Any) -> None:
    text, old, new = str(value), str(old), str(new)
    limit_text(len(text) + text.count(old) * max(0, len(new) - len(old)))


def _indent(value: Any, width: Any = 4, *rest: Any, **kwargs: Any) -> None:
    limit_width(width)
    step = len(width) if isinstance(width, str) else int(width)
    limit_text(len(str(value)) + (str(value).count("\n") + 1) * step)


def _join(value: Any, d: Any = "", *rest: Any, **kwargs: Any) -> None:
    count, characters = current().weigh(value)
    limit_text(characters + count * len(str(d)))


def _method_join(separator: str, values: Any) -> None:
    _join(values, separator)


def _width(value: Any, *sizes: Any, **kwargs: Any) -> None:
    limit_width(*sizes, *kwargs.values())


def _expandtabs(value: str, tabsize: Any = 8) -> None:
    limit_width(tabsize)
    limit_text(len(value) + value.count("\t") * int(tabsize))


def _sum(iterable: Any, attribute: Any = None, start: Any = 0) -> None:
    if not isinstance(start, (int, float)):
        raise BadRequest("The chat template of the request adds up something that is not a number.")


def _format(value: Any, *args: Any, **kwargs: Any) -> None:
    guard_percent(str(value), kwargs or args)


FILTER_GUARDS: Mapping[str, Guard] = {
    "batch": _width,
    "center": _width,
    "format": _format,
    "indent": _indent,
    "join": _join,
    "replace": _replace,
    "round": _width,
    "slice": _width,
    "sum": _sum,
}
REMOVED_FILTERS = ("pprint", "striptags", "urlize", "wordwrap")
"""Their time is not in proportion to what they are given."""
SHALLOW_FILTERS = frozenset((
    "attr", "batch", "count", "d", "default", "first", "items", "last", "length", "list", "map", "random", "reject",
    "rejectattr", "reverse", "select", "selectattr", "slice",
))  # fmt: skip
"""They do not walk into what they are given, so that need not be weighed."""
CONSUMERS = frozenset(("groupby", "join", "list", "max", "min", "sort", "sum"))
"""Filters that run through an iterator at once: it is made a list first, item by item."""
COMPARISONS = frozenset((
    "==", "!=", "<", "<=", ">", ">=", "eq", "equalto", "ge", "greaterthan", "gt", "in", "le", "lessthan", "lt", "ne",
))  # fmt: skip
"""Tests that walk through what they compare."""

_PLAIN_STRING_METHODS = (
    "capitalize", "casefold", "count", "endswith", "find", "index", "isalnum", "isalpha", "isascii", "isdecimal",
    "isdigit", "isidentifier", "islower", "isnumeric", "isprintable", "isspace", "istitle", "isupper", "lower",
    "lstrip", "partition", "removeprefix", "removesuffix", "rfind", "rindex", "rpartition", "rsplit", "rstrip", "split",
    "splitlines", "startswith", "strip", "swapcase", "title", "upper",
)  # fmt: skip
METHOD_GUARDS: Mapping[type, Mapping[str, Guard | None]] = {
    str: {
        **dict.fromkeys(_PLAIN_STRING_METHODS),
        "center": _width,
        "expandtabs": _expandtabs,
        "join": _method_join,
        "ljust": _width,
        "replace": _replace,
        "rjust": _width,
        "zfill": _width,
    },
    dict: dict.fromkeys(("copy", "get", "items", "keys", "values")),
    list: dict.fromkeys(("copy", "count", "index")),
    tuple: dict.fromkeys(("count", "index")),
    int: dict.fromkeys(("bit_length",)),
    float: dict.fromkeys(("is_integer",)),
}
"""Methods of Python's own types that a template may call, and their guards; all others are refused."""
