"""How each family writes a tool call: the data from which structural tags are built (wire.md 2.7, 7.4).

The keys are the reference's structural-tag models; several parsers may share one (`renderlayer.constraints.adjust`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from renderlayer.constraints.structural_tags import formats, glm
from renderlayer.constraints.structural_tags.formats import Format
from renderlayer.constraints.structural_tags.native import excluded
from renderlayer.constraints.structural_tags.tools import Tool


class Layout(Enum):
    """What surrounds the calls when the model must call; when it may, a trigger in free text opens them."""

    TRIGGERED = "free text, then a call; a named tool: the call alone"
    LIST = "calls and nothing else"
    BLOCK = "one tag round all calls; a named tool: block and call as one tag"
    SEQUENCE = "the block's two ends as constant text round the calls"


@dataclass(frozen=True)
class Call:
    """One spelling of a call: text before the name, between name and arguments, and behind the arguments."""

    before: str
    after: str
    end: str


def _json(tool: Tool) -> Format:
    return formats.json_schema(tool.json_schema)


def _xml(style: str, *excludes: str) -> Callable[[Tool], Format]:
    """Arguments in a markup that the engine knows by name."""

    def arguments(tool: Tool) -> Format:
        return formats.json_schema(tool.schema, style, excluded(tool.schema, excludes) if tool.held else ())

    return arguments


@dataclass(frozen=True)
class TagFamily:
    """One format of tool calls.

    Attributes:
        calls: the spellings a model may use.
        trigger: the text that opens a call (or the block) in free text.
        layout: see `Layout`.
        arguments: makes the format of a tool's arguments.
        opening, closing: the block round all calls.
        lead: text before the block when a call is demanded (Layout.SEQUENCE).
        trailer: text that may follow the block (Layout.BLOCK).
        separator: text between calls.
        excludes: strings that free text may not contain.
        named_list: a named tool keeps the list round its call (Layout.BLOCK, Layout.SEQUENCE).
        strict_alone: a named tool that is strict has no list round its call (Layout.LIST).
        per_property: the arguments take a format a property, not one for all.
    """

    calls: tuple[Call, ...]
    trigger: str
    layout: Layout
    arguments: Callable[[Tool], Format] = _json
    opening: str = ""
    closing: str = ""
    lead: str = ""
    trailer: str = ""
    separator: str = ""
    excludes: tuple[str, ...] = ("<think>", "</think>")
    named_list: bool = False
    strict_alone: bool = False
    per_property: bool = False


def _json_call(marker: str) -> TagFamily:
    """`<marker>{"name": …, "arguments": …}</marker>`, with line breaks inside or without."""
    opening, closing = f"<{marker}>", f"</{marker}>"
    return TagFamily(
        calls=(
            Call(f'{opening}\n{{"name": "', '", "arguments": ', f"}}\n{closing}"),
            Call(f'{opening}{{"name": "', '", "arguments": ', f"}}{closing}"),
        ),
        trigger=opening,
        layout=Layout.LIST,
        excludes=(),
    )


def _dsml(space: str, block: str, style: str) -> TagFamily:
    """DeepSeek's markup; V4.1 puts a space into its tags."""
    return TagFamily(
        calls=(Call(f'<｜DSML｜{space}invoke name="', '">\n', f"</｜DSML｜{space}invoke>\n"),),
        trigger=f"<｜DSML｜{space}{block}>",
        layout=Layout.SEQUENCE,
        arguments=_xml(style, f"</｜DSML｜{space}parameter>"),
        opening=f"<｜DSML｜{space}{block}>\n",
        closing=f"</｜DSML｜{space}{block}>",
        lead="\n\n",
    )


def _numbered(tool: Tool) -> Format:
    """Kimi K2 numbers its calls before the arguments."""
    return formats.sequence(
        formats.regex(r"\d+"), formats.const("<|tool_call_argument_begin|>"), formats.json_schema(tool.json_schema)
    )


FAMILIES: dict[str, TagFamily] = {
    "hermes": _json_call("tool_call"),
    "longcat": _json_call("longcat_tool_call"),
    "llama": TagFamily(
        calls=(Call('{"name": "', '", "parameters": ', "}"),), trigger='{"name": ', layout=Layout.TRIGGERED
    ),
    "deepseek_r1": TagFamily(
        calls=(Call("<｜tool▁call▁begin｜>function<｜tool▁sep｜>", "\n```json\n", "\n```<｜tool▁call▁end｜>"),),
        trigger="<｜tool▁calls▁begin｜>",
        layout=Layout.BLOCK,
        opening="<｜tool▁calls▁begin｜>",
        closing="<｜tool▁calls▁end｜>",
        separator="\n",
    ),
    "deepseek_v3_1": TagFamily(
        calls=(Call("<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<｜tool▁call▁end｜>"),),
        trigger="<｜tool▁calls▁begin｜>",
        layout=Layout.BLOCK,
        opening="<｜tool▁calls▁begin｜>",
        closing="<｜tool▁calls▁end｜>",
    ),
    "deepseek_v3_2": _dsml("", "function_calls", "deepseek_xml"),
    "deepseek_v4": _dsml("", "tool_calls", "deepseek_xml"),
    "deepseek_v4_1": _dsml(" ", "calls", "deepseek_v4_1_xml"),
    "kimi": TagFamily(
        calls=(Call("<|tool_call_begin|>functions.", ":", "<|tool_call_end|>"),),
        trigger="<|tool_calls_section_begin|>",
        layout=Layout.SEQUENCE,
        arguments=_numbered,
        opening="<|tool_calls_section_begin|>",
        closing="<|tool_calls_section_end|>",
        excludes=("<think>", "</think>", "<|tool_call_begin|>"),
    ),
    "glm_4_7": TagFamily(
        calls=(Call("<tool_call>", "", "</tool_call>"),),
        trigger="<tool_call>",
        layout=Layout.LIST,
        arguments=glm.arguments,
        excludes=tuple(marker for marker in glm.MARKERS if marker != "<tool_call>"),
        per_property=True,
        strict_alone=True,
    ),
    "minimax": TagFamily(
        calls=(Call('<invoke name="', '">\n', "</invoke>\n"),),
        trigger="<minimax:tool_call>",
        layout=Layout.SEQUENCE,
        arguments=_xml("minimax_xml"),
        opening="<minimax:tool_call>\n",
        closing="</minimax:tool_call>",
        lead="\n",
        named_list=True,
    ),
    "qwen_3_coder": TagFamily(
        calls=(Call("<tool_call>\n<function=", ">\n", "\n</function>\n</tool_call>"),),
        trigger="<tool_call>\n<function=",
        layout=Layout.TRIGGERED,
        arguments=_xml("qwen_xml"),
    ),
    "mimo": TagFamily(
        calls=(Call("<tool_call><function=", ">", "</function></tool_call>"),),
        trigger="<tool_call>",
        layout=Layout.TRIGGERED,
        arguments=_xml("qwen_xml"),
        excludes=("<think>", "</think>", "</tool_call>", "<function="),
    ),
    "plamo3": TagFamily(
        calls=(
            Call(
                "<|plamo:begin_tool_request:plamo|><|plamo:begin_tool_name:plamo|>",
                "<|plamo:end_tool_name:plamo|><|plamo:begin_tool_arguments:plamo|><|plamo:constrain|>json<|plamo:msg|>",
                "<|plamo:end_tool_arguments:plamo|><|plamo:end_tool_request:plamo|>",
            ),
        ),
        trigger="<|plamo:begin_tool_requests:plamo|>",
        layout=Layout.BLOCK,
        opening="<|plamo:begin_tool_requests:plamo|>",
        closing="<|plamo:end_tool_requests:plamo|>",
        trailer="<|plamo:tag|>",
        named_list=True,
        excludes=(),
    ),
}

HELD = ("mimo", "minimax", "qwen_3_coder")
"""Families in which the engine lets white space stand round a string: held calls have grammars of their own."""
