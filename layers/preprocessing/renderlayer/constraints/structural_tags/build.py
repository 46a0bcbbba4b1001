"""From tools and a family to the format that holds an answer to that family's calls (wire.md 2.7)."""

from __future__ import annotations

from collections.abc import Sequence

from renderlayer.constraints.structural_tags import formats, harmony, kimi_k3
from renderlayer.constraints.structural_tags.families import FAMILIES, Family, Layout
from renderlayer.constraints.structural_tags.formats import Format
from renderlayer.constraints.structural_tags.tools import HARMONY, KIMI_K3, Demand, Tool, check_size


def tool_calls(model: str, tools: Sequence[Tool], demand: Demand, *, single: bool) -> Format:
    """The format of an answer that calls tools.

    Args:
        model: structural-tag model: a key of FAMILIES, HARMONY or KIMI_K3.
        tools: the tools that may be called, at least one; only the named one when one is named.
        demand: whether a call must come.
        single: stop behind the first call.

    Raises:
        BadRequest: the tools are too large to be constrained.
    """
    if model == HARMONY:
        check_size(tools, harmony.SPELLINGS, per_property=False)
        return harmony.tool_calls(tools, demand)
    if model == KIMI_K3:
        check_size(tools, 1, per_property=True)
        return kimi_k3.tool_calls(tools, demand, single)
    family = FAMILIES[model]
    check_size(tools, len(family.calls), family.per_property)
    return _auto(family, tools, single) if demand == "auto" else _demanded(family, tools, demand, single)


def _auto(family: Family, tools: Sequence[Tool], single: bool) -> Format:
    calls = _calls(family, tools)
    if family.opening:
        calls = [_block(family, calls, single)]
    return _triggered(family, calls, at_least_one=False, single=single)


def _demanded(family: Family, tools: Sequence[Tool], demand: Demand, single: bool) -> Format:
    calls = _calls(family, tools)
    named = demand == "named"
    if family.layout is Layout.LIST:
        return formats.separated(calls, family.separator, single=single or named)
    if family.layout is Layout.TRIGGERED:
        return calls[0] if named else _triggered(family, calls, at_least_one=True, single=single)
    if family.layout is Layout.BLOCK:
        return _joined(family, calls[0]) if named else _block(family, calls, single)
    inner = calls[0]
    if not named or family.named_list:
        inner = formats.separated(calls, family.separator, single=single or named)
    ends = [formats.const(family.closing)]
    if family.trailer:
        ends.append(formats.optional(formats.const(family.trailer)))
    return formats.sequence(formats.const(family.lead + family.opening), inner, *ends)


def _calls(family: Family, tools: Sequence[Tool]) -> list[Format]:
    """A tag for every tool in every spelling."""
    return [
        formats.tag(call.before + tool.name + call.after, family.arguments(tool), call.end)
        for tool in tools
        for call in family.calls
    ]


def _triggered(family: Family, tags: Sequence[Format], *, at_least_one: bool, single: bool) -> Format:
    return formats.triggered(family.trigger, tags, at_least_one=at_least_one, single=single, excludes=family.excludes)


def _block(family: Family, calls: Sequence[Format], single: bool) -> Format:
    return formats.tag(family.opening, formats.separated(calls, family.separator, single=single), family.closing)


def _joined(family: Family, call: Format) -> Format:
    """Block and call as one tag."""
    return formats.tag(family.opening + call["begin"], call["content"], call["end"] + family.closing)
