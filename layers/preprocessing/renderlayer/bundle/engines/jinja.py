"""jinja2 as Hugging Face chat templates expect it."""

from __future__ import annotations

from typing import Any

from jinja2 import TemplateError, nodes
from jinja2.exceptions import SecurityError
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace

from renderlayer.bundle.engines.functions import strftime_now, tojson
from renderlayer.errors import BadRequest


class GenerationTag(Extension):
    """`{% generation %}` … `{% endgeneration %}` marks what the model wrote; it renders its body."""

    tags = {"generation"}  # noqa: RUF012  (the attribute is declared so by jinja2)

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.Scope(body, lineno=line)


class PlainNamespace(Namespace):
    """`namespace()` without underscore names, which would reach Python's internals."""

    def __init__(*args: Any, **kwargs: Any) -> None:
        for name in dict(*args[1:], **kwargs):
            _refuse_private(name)
        Namespace.__init__(*args, **kwargs)

    def __setitem__(self, name: str, value: Any) -> None:
        _refuse_private(name)
        super().__setitem__(name, value)


class PlainDict:
    """`dict()` and `dict.fromkeys()` without the class itself."""

    def __call__(self, *args: Any, **kwargs: Any) -> dict[Any, Any]:
        return dict(*args, **kwargs)

    def fromkeys(self, keys: Any, value: Any = None) -> dict[Any, Any]:
        return dict.fromkeys(keys, value)


def environment(kind: type[ImmutableSandboxedEnvironment] = ImmutableSandboxedEnvironment) -> Any:
    """An environment of `kind`, set up for chat templates."""
    made = kind(trim_blocks=True, lstrip_blocks=True, extensions=[GenerationTag, loopcontrols])
    made.filters["tojson"] = tojson
    made.globals["raise_exception"] = raise_exception
    made.globals["strftime_now"] = strftime_now
    made.globals["namespace"] = PlainNamespace
    made.globals["dict"] = PlainDict()
    return made


def raise_exception(message: Any) -> None:
    """What a template calls to refuse a conversation."""
    raise TemplateError(message)


class JinjaEngine:
    """One compiled template.

    Raises:
        BadRequest: the template does not compile; the message is jinja2's.
    """

    def __init__(self, source: str, made: Any = None) -> None:
        try:
            self._template = (made or environment()).from_string(source)
        except Exception as error:
            raise refusal(error) from error

    def render(self, context: dict[str, Any]) -> str:
        """Render with `context`.

        Raises:
            BadRequest: anything that went wrong in the template, with its text.
        """
        try:
            return self._template.render(context)  # type: ignore[no-any-return]
        except Exception as error:
            raise refusal(error) from error


def refusal(error: Exception) -> BadRequest:
    """The 400 for an exception that came out of a template: its own words."""
    return BadRequest(str(error) or type(error).__name__)


def _refuse_private(name: Any) -> None:
    if isinstance(name, str) and name.startswith("_"):
        raise SecurityError(
            f"a namespace of a chat template cannot hold {name!r}: names may not start with an underscore"
        )
