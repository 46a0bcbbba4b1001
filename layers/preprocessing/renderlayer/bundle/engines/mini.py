"""minijinja, for templates that packing proved to render as jinja2 renders them."""

from __future__ import annotations

import re
from typing import Any

from minijinja import Environment

from renderlayer.bundle.engines.functions import strftime_now, tojson
from renderlayer.errors import BadRequest

_GENERATION = re.compile(r"{%[-+]?\s*(?:end)?generation\s*[-+]?%}")
_NAME = "chat"


class TemplateRefusal(Exception):
    """What `raise_exception` raises in a template."""


class MiniEngine:
    """One compiled template. A failure is rendered again by jinja2, whose words are the reference's.

    Raises:
        Exception: minijinja does not compile the template (only while packing: what is packed compiles).
    """

    def __init__(self, source: str) -> None:
        self._source = source
        made = Environment(trim_blocks=True, lstrip_blocks=True, auto_escape_callback=lambda name: False)
        made.add_filter("tojson", tojson)
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
            text = self.render_strict(context)
            if "\ufffd" not in text or not _holds_surrogate(context):
                return text
            return self._by_jinja(context)  # which keeps lone surrogates, for the tokenizer to refuse
        except TemplateRefusal as error:
            raise BadRequest(str(error)) from error
        except Exception:
            return self._by_jinja(context)

    def _by_jinja(self, context: dict[str, Any]) -> str:
        from renderlayer.bundle.engines.jinja import JinjaEngine

        return JinjaEngine(self._source).render(context)

    def render_strict(self, context: dict[str, Any]) -> str:
        """Render with minijinja alone; whatever it raises is raised."""
        return self._environment.render_template(_NAME, **context)


def without_generation_tags(source: str) -> str:
    """The template without its generation tags, white space around them handled as the tags would handle it."""
    return _GENERATION.sub(_as_if_tag, source)


def _as_if_tag(match: re.Match[str]) -> str:
    tag = match[0]
    opening = "{%" + (tag[2] if tag[2] in "-+" else "")
    closing = (tag[-3] if tag[-3] in "-+" else "") + "%}"
    return f"{opening} if true {closing}" if "endgeneration" not in tag else f"{opening} endif {closing}"


def _holds_surrogate(value: Any) -> bool:
    if isinstance(value, str):
        return any("\ud800" <= character <= "\udfff" for character in value)
    if isinstance(value, dict):
        return any(map(_holds_surrogate, value.values()))
    return isinstance(value, list) and any(map(_holds_surrogate, value))


def _raise_exception(message: Any) -> None:
    raise TemplateRefusal(message)
