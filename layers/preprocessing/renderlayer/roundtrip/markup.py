"""The texts that mean something in one format or another."""

from __future__ import annotations

from functools import cache

from renderlayer.parsers.element_calls import ElementCalls
from renderlayer.parsers.events import ParserNames
from renderlayer.parsers.gemma_calls import GemmaCalls
from renderlayer.parsers.messages import MessageFormat
from renderlayer.parsers.reasoning_formats import REASONING
from renderlayer.parsers.tags import Tags
from renderlayer.parsers.tool_formats import TOOLS

HARMONY = ("<|start|>", "<|channel|>", "<|constrain|>", "<|message|>", "<|end|>", "<|call|>")


def markers(names: ParserNames) -> list[str]:
    """The markers of a pair of parsers."""
    tool, thinker = TOOLS.get(names.tool or ""), REASONING.get(names.reasoning or "")
    found = tool.literals() if tool else []
    if isinstance(thinker, MessageFormat):
        found += thinker.declared()
    elif thinker:
        found += [*thinker.opens, *thinker.closes, *thinker.ends]
    return [marker for marker in dict.fromkeys(found) if marker.strip() and "{" not in marker]


@cache
def all_markers() -> frozenset[str]:
    """The markers of every parser; a special token that is none of them ends a turn."""
    pairs = [*(ParserNames(name, None) for name in TOOLS), *(ParserNames(None, name) for name in REASONING)]
    return frozenset(marker for names in pairs for marker in markers(names)) | frozenset(HARMONY)


@cache
def thoughts() -> dict[str, str]:
    """What opens reasoning, and what closes it."""
    forms = (form for form in REASONING.values() if not isinstance(form, MessageFormat))
    return {
        opener: closer
        for form in forms
        for opener, closer in zip(form.opens, form.closes, strict=False)
        if opener.strip() and "{" not in opener
    }


def thought(names: ParserNames) -> tuple[str, str]:
    """What opens and closes reasoning for a reasoning parser; "" where it has no such markers."""
    form = REASONING.get(names.reasoning or "")
    if form is None or isinstance(form, MessageFormat) or not form.opens or "{" in form.opens[0]:
        return "", ""
    return form.opens[0], form.closes[0]


def unescaped(names: ParserNames) -> tuple[str, ...]:
    """What ends a string of an argument wherever it stands, since the format has no way to escape it."""
    form = TOOLS.get(names.tool or "")
    if isinstance(form, Tags):
        return form.value_closers
    if isinstance(form, GemmaCalls):
        return (form.quote,)
    if isinstance(form, ElementCalls):
        return (form.prefix,)
    return ()
