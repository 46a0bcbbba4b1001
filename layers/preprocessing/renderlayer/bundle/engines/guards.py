"""Guards of operations by which a small template could make a huge value, or a long wait.

Each guard is told what is about to be done and raises BadRequest when the result would be too large. The time limit is
checked at each of them as well.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from string import Formatter
from typing import Any

from jinja2.runtime import LoopContext, Macro

from renderlayer.bundle.engines.budget import Budget, current, limit_text
from renderlayer.bundle.engines.functions import strftime_now, tojson
from renderlayer.errors import BadRequest

MAX_WIDTH = 10_000
"""Largest width, indentation or precision that a template may ask for."""
_MAX_BITS = 1 << 14

Guard = Callable[..., None]

_SCALARS = (str, int, float, bool, type(None))
_NUMBER = re.compile(r"\d+|\*")


def limit_width(*values: Any) -> None:
    """Refuse widths that would pad a text to a huge one."""
    for value in values:
        size = len(value) if isinstance(value, str) else value
        if isinstance(size, int) and abs(size) > MAX_WIDTH:
            raise BadRequest(f"The chat template of the request asks for a width of more than {MAX_WIDTH}.")


# operators


def guard_operator(operator: str, left: Any, right: Any) -> None:
    """Judge `left operator right` before it is done."""
    budget = current()
    budget.check()
    if operator == "*":
        _guard_product(budget, left, right)
    elif operator == "**":
        if isinstance(left, int) and isinstance(right, int) and left.bit_length() * abs(right) > _MAX_BITS:
            raise BadRequest("The chat template of the request makes too large a number.")
    elif operator == "%" and isinstance(left, str):
        guard_percent(left, right)
    elif operator == "+" and isinstance(left, str) and isinstance(right, str):
        limit_text(len(left) + len(right))


def _guard_product(budget: Budget, left: Any, right: Any) -> None:
    if isinstance(left, int) and isinstance(right, int):
        if left.bit_length() + right.bit_length() > _MAX_BITS:
            raise BadRequest("The chat template of the request makes too large a number.")
        return
    repeated, times = (right, left) if isinstance(left, int) else (left, right)
    if isinstance(repeated, (str, list, tuple)) and isinstance(times, int):
        size = len(repeated) * max(times, 0)
        limit_text(size)
        budget.produce(size)


def guard_percent(template: str, values: Any) -> None:
    """Judge printf-style formatting: every field may take all of the values, and a width."""
    _, characters = current().weigh(values)
    for number in _NUMBER.findall(template):
        limit_width(MAX_WIDTH + 1 if number == "*" else int(number[:12]))
    limit_text(len(template) + template.count("%") * (characters * 10 + MAX_WIDTH // 10))


class GuardedFormatter(Formatter):
    """`str.format` whose widths are limited and whose fields are counted."""

    def format_field(self, value: Any, format_spec: str) -> str:
        budget = current()
        budget.weigh(value)
        for number in _NUMBER.findall(format_spec):
            limit_width(int(number[:12]))
        return str(budget.charge(super().format_field(value, format_spec)))


# filters and methods; a guard gets the arguments of the call


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
    "truncate": _width,
}
_PLAIN_STRING_METHODS = (
    "capitalize",
    "casefold",
    "count",
    "endswith",
    "find",
    "index",
    "isalnum",
    "isalpha",
    "isascii",
    "isdecimal",
    "isdigit",
    "isidentifier",
    "islower",
    "isnumeric",
    "isprintable",
    "isspace",
    "istitle",
    "isupper",
    "lower",
    "lstrip",
    "partition",
    "removeprefix",
    "removesuffix",
    "rfind",
    "rindex",
    "rpartition",
    "rsplit",
    "rstrip",
    "split",
    "splitlines",
    "startswith",
    "strip",
    "swapcase",
    "title",
    "upper",
)
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

REMOVED_FILTERS = ("pprint", "striptags", "urlize", "wordwrap")
"""Their time is not in proportion to what they are given."""
_SHALLOW_FILTERS = frozenset(
    (
        "attr",
        "batch",
        "count",
        "d",
        "default",
        "first",
        "items",
        "last",
        "length",
        "list",
        "map",
        "random",
        "reject",
        "rejectattr",
        "reverse",
        "select",
        "selectattr",
        "slice",
    )
)
"""They do not walk into what they are given, so that need not be weighed."""
_CONSUMERS = frozenset(("groupby", "join", "list", "max", "min", "sort", "sum"))
_COMPARISONS = frozenset(
    ("==", "!=", "<", "<=", ">", ">=", "eq", "equalto", "ge", "greaterthan", "gt", "in", "le", "lessthan", "lt", "ne")
)


def guarded_filter(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A filter that is judged before it runs and counted afterwards."""
    skip = 1 if hasattr(function, "jinja_pass_arg") else 0
    guard = FILTER_GUARDS.get(name)

    @wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        budget = current()
        budget.check()
        given = list(args)
        if name in _CONSUMERS and len(given) > skip and isinstance(given[skip], Iterator):
            given[skip] = _drained(budget, given[skip])
        if name not in _SHALLOW_FILTERS:
            for value in (*given[skip:], *kwargs.values()):
                budget.weigh(value)
        if guard is not None:
            guard(*given[skip:], **kwargs)
        return budget.charge(function(*given, **kwargs))

    return run


def guarded_test(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A test that is judged before it runs."""

    @wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        budget = current()
        budget.check()
        if name in _COMPARISONS:
            budget.weigh(args)
        return function(*args, **kwargs)

    return run


def guard_call(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Judge a call; of the methods of Python's own types only those in the table are allowed."""
    budget = current()
    budget.check()
    if isinstance(function, (Macro, LoopContext)):
        return
    for value in (*args, *kwargs.values()):
        budget.weigh(value)
    owner = getattr(function, "__self__", None)
    for kind, methods in METHOD_GUARDS.items():
        if isinstance(owner, kind):
            name = getattr(function, "__name__", "")
            if name not in methods:
                raise BadRequest(
                    f"The chat template of the request calls {name!r} of a {kind.__name__}, which is not allowed."
                )
            if (guard := methods[name]) is not None:
                guard(owner, *args, **kwargs)
            return


def weighed(value: Any) -> Any:
    """Give `value` back, if it is small enough to be walked through."""
    if not isinstance(value, _SCALARS):
        current().weigh(value)
    return value


def counted_tojson(
    value: Any,
    ensure_ascii: bool = False,
    indent: Any = None,
    separators: Any = None,
    sort_keys: bool = False,
) -> str:
    """`tojson`, counted while it writes: indentation multiplies with depth."""
    limit_width(indent, *(separators or ()))
    if indent is None:
        return tojson(value, ensure_ascii, None, separators, sort_keys)
    made = json.JSONEncoder(ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)
    budget, length, parts = current(), 0, []
    for part in made.iterencode(value):
        budget.check()
        length += len(part)
        limit_text(length)
        parts.append(part)
    return "".join(parts)


def short_strftime_now(pattern: str) -> str:
    """`strftime_now` for patterns of a sane length."""
    if len(pattern) > 1000:
        raise BadRequest("The chat template of the request asks for a date in a form of more than 1000 characters.")
    return strftime_now(pattern)


def _drained(budget: Budget, values: Iterator[Any]) -> list[Any]:
    out = []
    for value in values:
        budget.check()
        out.append(value)
    return out
