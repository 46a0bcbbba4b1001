"""Operations of templates that came in a request, judged before they are done and counted afterwards.

A small template could otherwise make a huge value, or a long wait. The time limit is checked at each of them as well.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

from jinja2.runtime import LoopContext, Macro

from renderlayer.bundle.engines.allowed import COMPARISONS, CONSUMERS, FILTER_GUARDS, METHOD_GUARDS, SHALLOW_FILTERS
from renderlayer.bundle.engines.budget import Budget, current, limit_text, limit_width
from renderlayer.bundle.engines.formatting import guard_percent
from renderlayer.bundle.engines.functions import strftime_now, tojson
from renderlayer.errors import BadRequest

_MAX_BITS = 1 << 14
"""Bits of any integer that a template makes."""
_SCALARS = (str, int, float, bool, type(None))


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


def guarded_filter(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A filter that is judged before it runs and counted afterwards."""
    skip = 1 if hasattr(function, "jinja_pass_arg") else 0
    guard = FILTER_GUARDS.get(name)

    @wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        budget = current()
        budget.check()
        given = list(args)
        if name in CONSUMERS and len(given) > skip and isinstance(given[skip], Iterator):
            given[skip] = _drained(budget, given[skip])
        if name not in SHALLOW_FILTERS:
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
        if name in COMPARISONS:
            budget.weigh(args)
        return function(*args, **kwargs)

    return run


def guarded_call(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """Judge a call, and give the arguments to make it with.

    Of the methods of Python's own types only those in `METHOD_GUARDS` are allowed.
    """
    budget = current()
    budget.check()
    if isinstance(function, (Macro, LoopContext)):
        return args
    args = tuple(_drained(budget, value) if isinstance(value, Iterator) else value for value in args)
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
            break
    return args


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
