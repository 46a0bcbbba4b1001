"""Parsers by name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields, replace
from functools import lru_cache
from typing import Any, Protocol, TypeVar

from renderlayer.errors import ConfigurationError
from renderlayer.parsers.core.emitter import IdForm
from renderlayer.parsers.core.events import ParserNames
from renderlayer.parsers.core.markers import Vocabulary
from renderlayer.parsers.core.message_frames import MessageFormat
from renderlayer.parsers.core.tool_machine import ToolFormat
from renderlayer.parsers.harmony import HarmonyParser
from renderlayer.parsers.parser import Parser, TextParser
from renderlayer.parsers.reasoning.formats import REASONING
from renderlayer.parsers.reasoning.reasoning_format import ReasoningFormat
from renderlayer.parsers.response_template import NAMES as BY_TEMPLATE
from renderlayer.parsers.tool_calls.formats import TOOLS

_UNIFIED = (
    "cohere_command3",
    "cohere_command4",
    "inkling",
    "kimi_k3",
    "muse",
    "muse_glimmer",
    "musespark1x",
)
"""Families whose answers are in channels: their tool half alone has to know the others, too (wire.md 7.1)."""
_SUFFIXED = re.compile(r"<tool_calls(:[^<>]+)>")
_Form = TypeVar("_Form", ToolFormat, ReasoningFormat | MessageFormat)

HARMONY = ParserNames("openai", "openai_gptoss")

TOOL_PARSERS = tuple(sorted([*TOOLS, *BY_TEMPLATE, "openai"]))
REASONING_PARSERS = tuple(sorted([*REASONING, *BY_TEMPLATE, "openai_gptoss"]))


class ModelFacts(Protocol):
    """What parsers ask of a model's facts: its type, its tokenizer's response template, and what packing found: the
    parsers that suit it, and the variables by which its template switches thinking."""

    @property
    def model_type(self) -> str: ...

    @property
    def response_template(self) -> Mapping[str, Any]: ...

    @property
    def tool_parser(self) -> str | None: ...

    @property
    def reasoning_parser(self) -> str | None: ...

    @property
    def thinking_switches(self) -> Mapping[str, bool | None]: ...


class Model(Protocol):
    """What parsers ask of a model."""

    @property
    def facts(self) -> ModelFacts: ...

    @property
    def vocabulary(self) -> Vocabulary: ...


def open_parser(names: ParserNames, model: Model) -> Parser | None:
    """The parser for a pair of names and a model; None when neither half is configured.

    Raises:
        ConfigurationError: a name is not built, or the pair cannot be combined.
    """
    facts = model.facts
    tool = facts.tool_parser if names.tool == "auto" else names.tool
    reasoning = facts.reasoning_parser if names.reasoning == "auto" else names.reasoning
    if not tool and not reasoning:
        return None
    switches = tuple(facts.thinking_switches) if reasoning == facts.reasoning_parser else ()
    return _opened(
        ParserNames(tool or None, reasoning or None), facts.model_type, switches, _Key(model.vocabulary, facts)
    )


class _Key:
    """A model as a cache key: by the identity of its vocabulary."""

    def __init__(self, vocabulary: Vocabulary, facts: ModelFacts) -> None:
        self.vocabulary = vocabulary
        self.facts = facts

    def __hash__(self) -> int:
        return id(self.vocabulary)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and other.vocabulary is self.vocabulary


@lru_cache(maxsize=64)
def _opened(names: ParserNames, model_type: str, switches: tuple[str, ...], key: _Key) -> Parser:
    if names.tool and names.tool not in TOOL_PARSERS:
        raise ConfigurationError(f"no tool parser {names.tool!r}; there are {', '.join(TOOL_PARSERS)}")
    if names.reasoning and names.reasoning not in REASONING_PARSERS:
        raise ConfigurationError(f"no reasoning parser {names.reasoning!r}; there are {', '.join(REASONING_PARSERS)}")
    if model_type == "gpt_oss":
        return HarmonyParser(names, key.vocabulary)
    if names.tool in BY_TEMPLATE or names.reasoning in BY_TEMPLATE:
        return _by_template(names, key)
    if names.tool == HARMONY.tool or names.reasoning == HARMONY.reasoning:
        return HarmonyParser(names, key.vocabulary)
    suffix = marker_suffix(key.vocabulary)
    tools = _suffixed(TOOLS[names.tool], suffix) if names.tool else None
    thinker = names.reasoning or (names.tool if names.tool in _UNIFIED else None)
    reasoning = _suffixed(REASONING[thinker], suffix) if thinker else None
    if isinstance(reasoning, ReasoningFormat):
        reasoning = replace(reasoning, switch=reasoning.switch.named(switches))
    id_form: IdForm | None = "kimi" if model_type.startswith("kimi_k2") else None
    return TextParser(names, tools, reasoning, key.vocabulary, id_form)


def _by_template(names: ParserNames, key: _Key) -> Parser:
    """The parser of both halves, which cannot be combined with another."""
    if names.tool and names.reasoning and names.tool != names.reasoning:
        raise ConfigurationError(
            f"--reasoning-parser {names.reasoning} and --tool-call-parser {names.tool} cannot be combined"
        )
    from renderlayer.parsers.response_template.parser import TemplateParser, open_template

    return TemplateParser(names, open_template(names, key.facts.response_template), key.vocabulary)


def marker_suffix(vocabulary: Vocabulary) -> str:
    """What Hunyuan's vocabularies append to the words in their markers."""
    marked = (match for text in vocabulary.added if (match := _SUFFIXED.fullmatch(text)))
    return next((match.group(1) for match in marked), "")


def _suffixed(form: _Form, suffix: str) -> _Form:
    changes: dict[str, Any] = {}
    for field in fields(form):
        value = getattr(form, field.name)
        if isinstance(value, str) and "{}" in value:
            changes[field.name] = value.format(suffix)
        elif isinstance(value, tuple) and any("{}" in item for item in value):
            changes[field.name] = tuple(item.format(suffix) for item in value)
    return replace(form, **changes) if changes else form
