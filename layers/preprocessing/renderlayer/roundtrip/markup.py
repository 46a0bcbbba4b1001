"""The texts that mean something in one format or another."""

from __future__ import annotations

from functools import cache

from renderlayer.parsers.core.events import ParserNames
from renderlayer.parsers.core.message_frames import MessageFormat
from renderlayer.parsers.reasoning.formats import REASONING
from renderlayer.parsers.tool_calls.element_calls import ElementCalls
from renderlayer.parsers.tool_calls.formats import TOOLS
from renderlayer.parsers.tool_calls.gemma_calls import GemmaCalls
from renderlayer.parsers.tool_calls.python_calls import PythonCalls
from renderlayer.parsers.tool_calls.tags import Tags


def markers(names: ParserNames) -> list[str]:
    """The markers of a pair of parsers that may stand in an argument: not what separates messages."""
    tool, thinker = TOOLS.get(names.tool or ""), REASONING.get(names.reasoning or "")
    found = tool.literals() if tool else []
    if thinker and not isinstance(thinker, MessageFormat):
        found += [*thinker.opens, *thinker.closes, *thinker.ends]
    return [marker for marker in dict.fromkeys(found) if marker.strip() and "{" not in marker]


@cache
def all_markers() -> frozenset[str]:
    """The markers of every parser; a special token that is none of them ends a turn."""
    found = set[str]()
    for name, tool in TOOLS.items():
        found.update((*markers(ParserNames(name, None)), *tool.tokens))
    for form in REASONING.values():
        if isinstance(form, MessageFormat):
            found.update(form.declared())
        else:
            found.update((*form.opens, *form.closes, *form.ends, *form.swallowed, *form.tokens))
    return frozenset(found)


@cache
def thoughts(suffix: str) -> dict[str, str]:
    """What opens reasoning, and what closes it; `suffix` is the vocabulary's (`registry.marker_suffix`)."""
    forms = (form for form in REASONING.values() if not isinstance(form, MessageFormat))
    return {
        opener.format(suffix): closer.format(suffix)
        for form in forms
        for opener, closer in zip(form.opens, form.closes, strict=False)
        if opener.strip()
    }


def thought(names: ParserNames) -> tuple[str, str]:
    """What opens and closes reasoning for a reasoning parser; "" where it has no such markers."""
    form = REASONING.get(names.reasoning or "")
    if form is None or isinstance(form, MessageFormat) or not form.opens or "{" in form.opens[0]:
        return "", ""
    return form.opens[0], form.closes[0]


def unreadable(names: ParserNames, string: str, text: str) -> str:
    """Why nobody can tell where a string of an argument ends that the template wrote into `text`; "" for no reason."""
    form = TOOLS.get(names.tool or "")
    if isinstance(form, PythonCalls):
        bare = any(quote + string + quote in text and (quote in string or "\\" in string) for quote in "'\"")
        return "quotes and backslashes in a string are written as they stand" if bare else ""
    ends: tuple[str, ...] = ()
    if isinstance(form, Tags):
        ends = form.value_closers
    elif isinstance(form, GemmaCalls):
        ends = (form.quote,)
    elif isinstance(form, ElementCalls):
        ends = (form.prefix,)
    end = next((end for end in ends if end in string and string.strip() in text), "")
    return f"{end} in a string is written as it stands" if end else ""
