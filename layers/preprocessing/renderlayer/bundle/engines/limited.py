"""jinja2 for templates that came in a request: hard limits of time and size (`budget`).

The template's syntax tree gets a check of the budget at every loop, macro and output, and its operators, comparisons,
slices, filters, tests and calls go through guards (`guards`). Nothing is evaluated while compiling.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from jinja2 import Template, nodes, pass_context, pass_eval_context
from jinja2.nodes import EvalContext
from jinja2.runtime import markup_join, str_join
from jinja2.sandbox import ImmutableSandboxedEnvironment, SandboxedEscapeFormatter, SandboxedFormatter
from markupsafe import Markup

from renderlayer.bundle.analysis import analyse_tree
from renderlayer.bundle.engines.allowed import REMOVED_FILTERS
from renderlayer.bundle.engines.budget import Budget, current, limit_text, spending
from renderlayer.bundle.engines.engine import Analysis
from renderlayer.bundle.engines.formatting import GuardedFormatter
from renderlayer.bundle.engines.guards import (
    counted_tojson,
    guard_operator,
    guarded_call,
    guarded_filter,
    guarded_test,
    short_strftime_now,
    weighed,
)
from renderlayer.bundle.engines.instrument import CHARGED, CONCAT, SPEND, WEIGHED, instrument
from renderlayer.bundle.engines.jinja import environment, refusal
from renderlayer.errors import BadRequest

MAX_TOKENS = 12_000
"""Tokens of the template language in a template; the largest published ones have about 4,000."""


class LimitedEngine:
    """A compiled template that is stopped when it spends more than its budget.

    Args:
        source: the template.
        seconds: time limit of its compilation, and of each rendering.

    Raises:
        BadRequest: it does not compile (jinja2's words), or is too large.
    """

    def __init__(self, source: str, seconds: float) -> None:
        self._seconds = seconds
        try:
            with spending(Budget(seconds)) as budget:
                self._template = _compile(source, budget)
        except BadRequest:
            raise
        except Exception as error:
            raise refusal(error) from error

    def render(self, context: dict[str, Any]) -> str:
        """Render with `context`.

        Raises:
            BadRequest: anything that went wrong in the template, with its text; or its budget is spent.
        """
        parts, length = [], 0
        try:
            with spending(Budget(self._seconds)) as budget:
                for part in self._template.root_render_func(self._template.new_context(context)):
                    budget.check()
                    length += len(part)
                    limit_text(length)
                    parts.append(part)
        except BadRequest:
            raise
        except Exception as error:
            raise refusal(error) from error
        return "".join(parts)


class _LimitedEnvironment(ImmutableSandboxedEnvironment):
    intercepted_binops = frozenset(ImmutableSandboxedEnvironment.default_binop_table)

    def __init__(self, **options: Any) -> None:
        # without the optimizer, and with outputs that depend on the context, nothing is evaluated at compile time
        super().__init__(**options, optimized=False, finalize=_output)

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        guard_operator(operator, left, right)
        return current().charge(super().call_binop(context, operator, left, right))

    def call(self, context: Any, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        args = guarded_call(function, args, kwargs)
        return current().charge(super().call(context, function, *args, **kwargs))

    def getitem(self, obj: Any, argument: Any) -> Any:
        return super().getitem(obj, weighed(argument))

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        """`str.format` and `str.format_map`, by formatters that count."""
        if super().wrap_str_format(value) is None:
            return None
        text: str = value.__self__
        is_map = value.__name__ == "format_map"

        def guarded(*args: Any, **kwargs: Any) -> str:
            if is_map:
                return type(text)(self._formatter(text).vformat(text, (), *args))
            return type(text)(self._formatter(text).vformat(text, args, kwargs))

        return guarded

    def _formatter(self, text: str) -> GuardedFormatter:
        if isinstance(text, Markup):
            return _EscapeFormatter(self, escape=text.escape)
        return _Formatter(self)


class _Formatter(GuardedFormatter, SandboxedFormatter):
    pass


class _EscapeFormatter(GuardedFormatter, SandboxedEscapeFormatter):
    pass


def analyse_limited(source: str, seconds: float) -> Analysis:
    """Analyse a template that came in a request; what is wrong with it is told when it is rendered."""
    try:
        with spending(Budget(seconds)):
            return analyse_tree(_parse(source))
    except Exception:
        return Analysis()


def _compile(source: str, budget: Budget) -> Template:
    made = _environment()
    tree = instrument(_parse(source), made)
    budget.check()
    return Template.from_code(made, made.compile(tree), made.make_globals(None))


def _parse(source: str) -> nodes.Template:
    made = _environment()
    for count, _ in enumerate(made.lexer.tokeniter(source, None)):
        if count > MAX_TOKENS:
            raise BadRequest(f"The chat template of the request has more than {MAX_TOKENS} tokens.")
    tree: nodes.Template = made.parse(source)
    return tree


@cache
def _environment() -> Any:
    made = environment(_LimitedEnvironment)
    made.filters["tojson"] = counted_tojson
    made.globals["strftime_now"] = short_strftime_now
    del made.globals["lipsum"]
    for name in REMOVED_FILTERS:
        del made.filters[name]
    for name, function in made.filters.items():
        made.filters[name] = guarded_filter(name, function)
    for name, function in made.tests.items():
        made.tests[name] = guarded_test(name, function)
    made.filters |= {SPEND: _spend, WEIGHED: weighed, CHARGED: lambda value: current().charge(value), CONCAT: _concat}
    return made


@pass_context
def _output(context: Any, value: Any) -> Any:
    """Counts what an expression puts out."""
    budget = current()
    budget.check()
    _, characters = budget.weigh(value)
    budget.produce(characters)
    return value


def _spend(size: int) -> bool:
    budget = current()
    budget.check()
    budget.produce(size)
    return True


@pass_eval_context
def _concat(eval_ctx: EvalContext, values: tuple[Any, ...]) -> str:
    budget = current()
    budget.weigh(values)
    joined: str = budget.charge((markup_join if eval_ctx.autoescape else str_join)(values))
    return joined
