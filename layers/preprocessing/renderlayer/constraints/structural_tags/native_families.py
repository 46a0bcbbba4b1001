"""Families whose arguments no style of the engine describes: grammars of their own for demanded calls (wire.md 7.4).

The reference leaves such calls to the model, or holds them to their frame (`hy_v4`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from renderlayer.constraints.structural_tags import formats
from renderlayer.constraints.structural_tags.families import Call, Layout, TagFamily
from renderlayer.constraints.structural_tags.formats import Format
from renderlayer.constraints.structural_tags.native import Notation
from renderlayer.constraints.structural_tags.tools import Tool

_GEMMA = Notation(between=":", opening="{", closing="}", separator=",", quotes=('<|"|>', '<|"|>'), nested=True)
_FUNCTION_MARKERS = ("<tool_call>", "</tool_call>", "<function=", "</function>", "<parameter=", "</parameter>")
_FUNCTION = Notation(before="<parameter=", between=">", after="</parameter>", excludes=_FUNCTION_MARKERS)
_M3 = "]<]minimax[>["
_MUSE_NEXT = "<|eom|><|start|>assistant"


def _keyed(before: str = "", after: str = "") -> Notation:
    """Keys and values in tags of their own."""
    key, value = f"{before}arg_key{after}", f"{before}arg_value{after}"
    return Notation(before=f"<{key}>", between=f"</{key}><{value}>", after=f"</{value}>")


def _named(bar: str = "", end: str = "") -> Notation:
    """Values in tags with the key as an attribute."""
    return Notation(before=f'<{bar}parameter name="', between='">', after=f"</{bar}parameter>{end}")


def _in_block(before: str, after: str, arguments: Callable[[Tool], Format]) -> TagFamily:
    return TagFamily(
        calls=(Call(f"<{before}tool_call{after}>", "", f"</{before}tool_call{after}>"),),
        trigger=f"<{before}tool_calls{after}>",
        layout=Layout.SEQUENCE,
        arguments=arguments,
        opening=f"<{before}tool_calls{after}>",
        closing=f"</{before}tool_calls{after}>",
        named_list=True,
        per_property=True,
    )


def _functions(before: str, after: str, end: str, arguments: Callable[[Tool], Format]) -> TagFamily:
    return TagFamily(
        calls=(Call(before, after, end),),
        trigger=before,
        layout=Layout.LIST,
        arguments=arguments,
        per_property=True,
    )


def hunyuan_frame(suffix: str) -> TagFamily:
    """Hunyuan V4's calls, of which names and keys are constrained, values are any text.

    Args:
        suffix: what the vocabulary's markers end in.
    """

    def pair(name: str) -> Format:
        texts = (f"<arg_key{suffix}>", name, f"</arg_key{suffix}>", f"<arg_value{suffix}>")
        end = formats.const(f"</arg_value{suffix}>")
        return formats.sequence(*map(formats.const, texts), formats.any_text(), end)

    def arguments(tool: Tool) -> Format:
        asked = (tool.parameters or {}).get("required") or []
        needed = [name for name in tool.properties if name in asked]
        needed += [name for name in asked if name not in tool.properties]
        able = [pair(name) for name in tool.properties if name not in asked]
        parts = [*map(pair, needed), *([formats.star(formats.one_of(able))] if able else [])]
        return formats.sequence(*parts) if parts else formats.any_text()

    return _in_block("", suffix, arguments)


def hunyuan(suffix: str) -> TagFamily:
    """Hunyuan V4's calls, held to their schemas; `suffix` as above."""
    return _in_block("", suffix, _keyed("", suffix).arguments)


_MUSE = replace(_named("atem:", "\n"), excludes=("<|eom|>", "<|eot|>", "<|start|>", "<|message|>"))


def muse(tools: Sequence[Tool], single: bool) -> Format:
    """The format of Muse's whole answer behind `<|start|>assistant`: reasoning, then a message to every tool called."""
    calls = [
        formats.tag(
            f' to={tool.name}<|message|><atem:function_calls>\n<atem:invoke name="{tool.name}">\n',
            _MUSE.arguments(tool),
            "</atem:invoke>\n</atem:function_calls>",
        )
        for tool in tools
    ]
    thinking = formats.tag(" to=self<|message|>", formats.any_text(("<|eom|>",)), _MUSE_NEXT)
    return formats.sequence(formats.optional(thinking), formats.separated(calls, _MUSE_NEXT, single=single))


NATIVE_FAMILIES: dict[str, TagFamily] = {
    "gemma4": TagFamily(
        calls=(Call("<|tool_call>call:", "", "<tool_call|>"),),
        trigger="<|tool_call>",
        layout=Layout.LIST,
        arguments=_GEMMA.arguments,
        per_property=True,
    ),
    "dots": replace(
        _in_block("", "", _named().arguments),
        calls=(Call('<invoke name="', '">', "</invoke>"),),
        trigger="<dots_function_call>",
        opening="<dots_function_call>",
        closing="</dots_function_call>",
    ),
    "minimax": TagFamily(
        calls=(Call('<invoke name="', '">\n', "</invoke>\n"),),
        trigger="<minimax:tool_call>",
        layout=Layout.SEQUENCE,
        arguments=_named(end="\n").arguments,
        opening="<minimax:tool_call>\n",
        closing="</minimax:tool_call>",
        lead="\n",
        named_list=True,
        per_property=True,
    ),
    "minimax_m3": TagFamily(
        calls=(Call(f'{_M3}<invoke name="', '">', f"{_M3}</invoke>\n"),),
        trigger=f"{_M3}<tool_call>",
        layout=Layout.SEQUENCE,
        arguments=Notation(before=f"{_M3}<", between=">", after=f"{_M3}</{{name}}>", excludes=(_M3,)).arguments,
        opening=f"{_M3}<tool_call>\n",
        closing=f"{_M3}</tool_call>",
        named_list=True,
        per_property=True,
    ),
    "mimo": _functions("<tool_call><function=", ">", "</function></tool_call>", _FUNCTION.arguments),
    "qwen_3_coder": _functions(
        "<tool_call>\n<function=",
        ">\n",
        "</function>\n</tool_call>",
        replace(_FUNCTION, between=">\n", after="\n</parameter>\n", excludes=_FUNCTION_MARKERS).arguments,
    ),
    "k2_horizon": _in_block("ifm|", "", _keyed("ifm|").arguments),
}
