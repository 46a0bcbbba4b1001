"""From tools and a family to the format that holds an answer to that family's calls (wire.md 2.7)."""

from __future__ import annotations

from collections.abc import Sequence

from renderlayer.constraints.structural_tags import formats, harmony, kimi_k3
from renderlayer.constraints.structural_tags.families import FAMILIES, HELD, Layout, TagFamily
from renderlayer.constraints.structural_tags.formats import Format
from renderlayer.constraints.structural_tags.tools import (
    HARMONY,
    HUNYUAN,
    HUNYUAN_FRAME,
    KIMI_K3,
    MUSE,
    Demand,
    Tool,
    check_size,
)


def tool_calls(model: str, tools: Sequence[Tool], demand: Demand, *, single: bool, suffix: str = "") -> Format:
    """The format of an answer that calls tools.

    Args:
        model: structural-tag model: a key of FAMILIES or NATIVE_FAMILIES, or one of those that `tools` names.
        tools: the tools that may be called, at least one; only the named one when one is named.
        demand: whether a call must come.
        single: stop behind the first call.
        suffix: what the vocabulary's markers end in (Hunyuan).

    Raises:
        BadRequest: the tools are too large to be constrained.
    """
    if model == HARMONY:
        check_size(tools, harmony.SPELLINGS, per_property=False)
        return harmony.tool_calls(tools, demand)
    if model == KIMI_K3:
        check_size(tools, 1, per_property=True)
        return kimi_k3.tool_calls(tools, demand, single or (demand == "named" and tools[0].held))
    if model == MUSE:
        from renderlayer.constraints.structural_tags.native_families import muse

        check_size(tools, 1, per_property=True)
        return muse(tools, single or demand == "named")
    family = _family(model, tools[0].held, suffix)
    check_size(tools, len(family.calls), family.per_property)
    return _auto(family, tools, single) if demand == "auto" else _demanded(family, tools, demand, single)


def _family(model: str, held: bool, suffix: str) -> TagFamily:
    if model in FAMILIES and not (held and model in HELD):
        return FAMILIES[model]
    from renderlayer.constraints.structural_tags import native_families

    if model == HUNYUAN_FRAME:
        return native_families.hunyuan_frame(suffix)
    return native_families.hunyuan(suffix) if model == HUNYUAN else native_families.NATIVE_FAMILIES[model]


def _auto(family: TagFamily, tools: Sequence[Tool], single: bool) -> Format:
    calls = _calls(family, tools)
    if family.opening:
        calls = [_block(family, calls, single)]
    return _triggered(family, calls, at_least_one=False, single=single)


def _demanded(family: TagFamily, tools: Sequence[Tool], demand: Demand, single: bool) -> Format:
    calls = _calls(family, tools)
    named = demand == "named"
    if family.layout is Layout.LIST:
        if named and family.strict_alone and isinstance(tools[0].schema, dict) and not tools[0].held:
            return calls[0]
        return formats.separated(calls, family.separator, single=single or named)
    if family.layout is Layout.TRIGGERED:
        return calls[0] if named else _triggered(family, calls, at_least_one=True, single=single)
    if family.layout is Layout.BLOCK:
        return _joined(family, calls[0]) if named and not family.named_list else _block(family, calls, single or named)
    inner = calls[0]
    if not named or family.named_list:
        inner = formats.separated(calls, family.separator, single=single or named)
    return formats.sequence(formats.const(family.lead + family.opening), inner, formats.const(family.closing))


def _calls(family: TagFamily, tools: Sequence[Tool]) -> list[Format]:
    """A tag for every tool in every spelling."""
    return [
        formats.tag(call.before + tool.name + call.after, family.arguments(tool), call.end)
        for tool in tools
        for call in family.calls
    ]


def _triggered(family: TagFamily, tags: Sequence[Format], *, at_least_one: bool, single: bool) -> Format:
    return formats.triggered(family.trigger, tags, at_least_one=at_least_one, single=single, excludes=family.excludes)


def _block(family: TagFamily, calls: Sequence[Format], single: bool) -> Format:
    end: str | list[str] = family.closing
    if family.trailer:
        end = [family.closing, family.closing + family.trailer]
    return formats.tag(family.opening, formats.separated(calls, family.separator, single=single), end)


def _joined(family: TagFamily, call: Format) -> Format:
    """Block and call as one tag."""
    return formats.tag(family.opening + call["begin"], call["content"], call["end"] + family.closing)
