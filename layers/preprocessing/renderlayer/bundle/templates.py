"""Chat templates: which one a request gets, and how it is rendered (wire.md 3.4, 3.5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from renderlayer.bundle.continuation import cut, marked
from renderlayer.bundle.engines.engine import Analysis, TemplateEngine
from renderlayer.errors import BadRequest

NO_TEMPLATE = (
    "As of transformers v4.44, default chat template is no longer allowed, so you must provide a chat template if the "
    "tokenizer does not define one."
)
DEFAULT, TOOL_USE = "default", "tool_use"

_RESERVED = frozenset(
    (
        "conversation",
        "tools",
        "documents",
        "chat_template",
        "add_generation_prompt",
        "continue_final_message",
        "tokenize",
        "padding",
        "truncation",
        "max_length",
        "return_tensors",
        "return_dict",
        "return_assistant_tokens_mask",
        "tokenizer_kwargs",
    )
)
"""Parameters of the reference's `apply_chat_template`: they never reach a template under these names (wire.md 3.5)."""


class ChatTemplate:
    """One chat template, ready to render.

    Args:
        source: the template.
        engine: compiles `source`; called once, when it is first needed.
        analyse: analyses `source`; called once, when it is first needed.
        special_tokens: names to texts; variables of the template.
        content_format: overrides what the analysis finds.
    """

    def __init__(
        self,
        source: str,
        engine: Callable[[str], TemplateEngine],
        analyse: Callable[[str], Analysis],
        special_tokens: Mapping[str, str],
        content_format: str | None = None,
    ) -> None:
        self.source = source
        self._make_engine = engine
        self._analyse = analyse
        self._special_tokens = special_tokens
        self._content_format = content_format

    def with_engine(self, engine: Callable[[str], TemplateEngine]) -> ChatTemplate:
        """The same template, compiled by another engine."""
        return ChatTemplate(self.source, engine, self._analyse, self._special_tokens, self._content_format)

    @property
    def content_format(self) -> str:
        """How it wants message contents: "string" or "openai" (wire.md 3.2)."""
        return self._content_format or self._analysis.content_format

    @property
    def variables(self) -> frozenset[str]:
        """The names that the template takes from outside."""
        return self._analysis.variables

    @cached_property
    def mentions_developer(self) -> bool:
        """Whether the template knows a developer role (wire.md 3.3)."""
        return '"developer"' in self.source or "'developer'" in self.source

    def render(
        self,
        conversation: list[dict[str, Any]],
        tools: list[dict[str, Any]] | None,
        documents: list[Any] | None,
        kwargs: Mapping[str, Any],
    ) -> str:
        """The prompt's text.

        Args:
            conversation: messages in this template's content format.
            tools: tool objects, or None.
            documents: documents, or None.
            kwargs: template kwargs, `add_generation_prompt` and `continue_final_message` among them; names that the
                template does not use are dropped.

        Raises:
            BadRequest: the template failed (its own words), or the kwargs contradict each other.
        """
        continued = bool(kwargs.get("continue_final_message"))
        if continued and kwargs.get("add_generation_prompt"):
            raise BadRequest(
                "continue_final_message and add_generation_prompt are not compatible. Use continue_final_message to "
                "continue the final message, and add_generation_prompt to start a new one."
            )
        final_text = ""
        if continued:
            conversation, final_text = marked(conversation, self.source)
        context = self._context(kwargs) | {
            "messages": conversation,
            "tools": tools,
            "documents": documents,
            "add_generation_prompt": kwargs.get("add_generation_prompt", False),
        }
        text = self._engine.render(context)
        return cut(text, final_text) if continued else text

    def _context(self, kwargs: Mapping[str, Any]) -> dict[str, Any]:
        given = {name: value for name, value in kwargs.items() if name in self.variables and name not in _RESERVED}
        if "messages" in given:
            raise BadRequest("chat_template_kwargs cannot contain 'messages'")
        return {**self._special_tokens, **given}

    @cached_property
    def _engine(self) -> TemplateEngine:
        return self._make_engine(self.source)

    @cached_property
    def _analysis(self) -> Analysis:
        return self._analyse(self.source)


class Templates:
    """The templates of a model, and those that requests bring.

    Args:
        folder: the bundle.
        description: the `templates` object of `bundle.json`.
        special_tokens: names to texts.
        chosen: the server's own template: a file, a template, or the name of one of the model's ("": none).
        content_format: "auto", or the format that all templates are said to have.
        seconds, memory: processor time and bytes that a template that came in a request may take.
    """

    def __init__(
        self,
        folder: Path,
        description: dict[str, Any],
        special_tokens: Mapping[str, str],
        chosen: str = "",
        content_format: str = "auto",
        seconds: float = 2.0,
        memory: int = 256 << 20,
    ) -> None:
        self._special_tokens = special_tokens
        self._format = None if content_format == "auto" else content_format
        self._limits = seconds, memory
        self._named = {name: self._packed(folder, row) for name, row in description["named"].items()}
        self._processor = self._packed(folder, description["processor"]) if description["processor"] else None
        self._by_name = self._named if description["by_name"] else {}
        self._chosen = self._server_template(chosen) if chosen else None
        self._requested = lru_cache(maxsize=32)(self._request_template)

    def resolve(self, requested: str | None, tools: bool) -> ChatTemplate:
        """The template of a request (wire.md 3.4).

        Args:
            requested: the request's `chat_template`, already trusted; None or empty: the model's own.
            tools: whether the request has tools.

        Raises:
            BadRequest: there is no template.
        """
        if requested:
            return self._by_name.get(requested) or self._requested(requested)
        if self._chosen is not None:
            return self._chosen
        if self._processor is not None and not tools:
            return self._processor
        own = (self._named.get(TOOL_USE) if tools else None) or self._named.get(DEFAULT)
        if own is not None:
            return own
        if self._named:
            raise BadRequest(
                "This model has several chat templates and none is the default: name one of "
                f"{', '.join(sorted(self._named))} in chat_template."
            )
        raise BadRequest(NO_TEMPLATE)

    def _packed(self, folder: Path, row: dict[str, Any]) -> ChatTemplate:
        analysis = Analysis(row["content_format"], frozenset(row["variables"]))
        return ChatTemplate(
            (folder / row["file"]).read_text(encoding="utf-8"),
            _mini_engine if row["engine"] == "minijinja" else _jinja_engine,
            lambda source: analysis,
            self._special_tokens,
            self._format,
        )

    def _server_template(self, chosen: str) -> ChatTemplate:
        """The template that the server was told to use; where it is a packed one, with the engine proved for that."""
        if chosen in self._by_name:
            return self._by_name[chosen]
        source = template_text(chosen)
        packed = [*self._named.values(), *([self._processor] if self._processor else [])]
        known = next((template for template in packed if template.source == source), None)
        return known or ChatTemplate(source, _jinja_engine, _analyse, self._special_tokens, self._format)

    def _request_template(self, source: str) -> ChatTemplate:
        from renderlayer.bundle.engines.limited import LimitedEngine, analyse_limited

        return ChatTemplate(
            source,
            lambda text: LimitedEngine(text, *self._limits),
            lambda text: analyse_limited(text, *self._limits),
            self._special_tokens,
            self._format,
        )


def template_text(chosen: str) -> str:
    """The template that a setting names: the text of a file, or the setting itself when it holds a brace or a newline.

    Raises:
        ConfigurationError: it is neither.
    """
    from renderlayer.errors import ConfigurationError

    if "{" in chosen or "\n" in chosen:
        return chosen
    try:
        return Path(chosen).read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"chat_template: {chosen!r} is neither a template nor a readable file") from error


def _mini_engine(source: str) -> TemplateEngine:
    from renderlayer.bundle.engines.mini import MiniEngine

    return MiniEngine(source)


def _jinja_engine(source: str) -> TemplateEngine:
    from renderlayer.bundle.engines.jinja import JinjaEngine

    return JinjaEngine(source)


def _analyse(source: str) -> Analysis:
    from renderlayer.bundle.analysis import analyse

    return analyse(source)
