"""minijinja, for templates that packing proved to render as jinja2 renders them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property
from typing import Any

from minijinja import Environment

from renderlayer.bundle.engines.engine import TemplateEngine
from renderlayer.bundle.engines.functions import strftime_now, tojson
from renderlayer.errors import BadRequest

_GENERATION = re.compile(r"{%[-+]?\s*(?:end)?generation\s*[-+]?%}")
_NAME = "chat"


class TemplateRefusal(Exception):
    """What `raise_exception` raises in a template."""


class Unfit(Exception):
    """The context holds a value that minijinja treats otherwise than Python does."""


class MiniEngine:
    """One compiled template.

    What minijinja cannot render, or fails to, is rendered by jinja2: a failure then has the reference's words.

    Raises:
        Exception: minijinja does not compile the template (only while packing: what is packed compiles).
    """

    def __init__(self, source: str) -> None:
        self._source = source
        made = Environment(trim_blocks=True, lstrip_blocks=True, auto_escape_callback=lambda name: False)
        made.add_filter("tojson", tojson)
        made.add_test("iterable", _is_iterable)
        made.add_global("raise_exception", _raise_exception)
        made.add_global("strftime_now", strftime_now)
        made.add_template(_NAME, without_generation_tags(source))
        self._environment = made

    def render(self, context: dict[str, Any]) -> str:
        """Render with `context`.

        Raises:
            BadRequest: anything that went wrong in the template, with jinja2's text.
        """
        try:
            return self.render_strict(context)
        except TemplateRefusal as error:
            raise BadRequest(str(error)) from error
        except Exception:
            return self._jinja.render(context)

    def render_strict(self, context: dict[str, Any]) -> str:
        """Render with minijinja alone.

        Raises:
            Unfit: a value of the context needs jinja2.
            Exception: whatever the template raises.
        """
        if any(map(_is_unfit, context.values())):
            raise Unfit
        return self._environment.render_template(_NAME, **context)

    @cached_property
    def _jinja(self) -> TemplateEngine:
        from renderlayer.bundle.engines.jinja import JinjaEngine

        return JinjaEngine(self._source)


def _is_unfit(value: Any) -> bool:
    """Whether `value` holds something that minijinja writes or reads otherwise.

    That is a float that Python writes with an exponent or that has no fraction (filters written in Python would get an
    integer), an integer of more than 126 bits, a separator that only Python takes for white space, or a lone surrogate.
    """
    if isinstance(value, str):
        separated = "\x1c" in value or "\x1d" in value or "\x1e" in value or "\x1f" in value
        return separated or not (value.isascii() or _is_utf8(value))
    if isinstance(value, dict):
        return any(map(_is_unfit, value.values()))
    if isinstance(value, list):
        return any(map(_is_unfit, value))
    if isinstance(value, float):
        return value.is_integer() or not 1e-4 <= abs(value) < 1e16
    return isinstance(value, int) and value.bit_length() > 126


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_iterable(value: Any) -> bool:
    """Python's answer: minijinja would say yes to None."""
    return isinstance(value, Iterable)


def without_generation_tags(source: str) -> str:
    """The template without its generation tags, white space around them handled as the tags would handle it."""
    return _GENERATION.sub(_as_if_tag, source)


def _as_if_tag(match: re.Match[str]) -> str:
    tag = match[0]
    opening = "{%" + (tag[2] if tag[2] in "-+" else "")
    closing = (tag[-3] if tag[-3] in "-+" else "") + "%}"
    return f"{opening} if true {closing}" if "endgeneration" not in tag else f"{opening} endif {closing}"


def _raise_exception(message: Any) -> None:
    raise TemplateRefusal(message)
