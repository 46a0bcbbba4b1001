"""The tool formats by name (wire.md 7.4)."""

from __future__ import annotations

from dataclasses import replace

from renderlayer.parsers.gemma_calls import GemmaCalls
from renderlayer.parsers.json_calls import JsonCalls
from renderlayer.parsers.python_calls import PythonCalls
from renderlayer.parsers.tagged import Tagged
from renderlayer.parsers.tool_machine import ToolFormat

_HERMES = JsonCalls(openers=("<tool_call>",), closers=("</tool_call>",), native_when_forced=True, after="drop")
_LLAMA = JsonCalls(
    openers=("<|python_tag|>",),
    bare=True,
    arguments=("arguments", "parameters"),
    eager=False,
    native_when_forced=True,
    after="drop",
)
_DEEPSEEK_V3 = JsonCalls(
    openers=("<｜tool▁calls▁begin｜>",),
    closers=("<｜tool▁calls▁end｜>",),
    call_opener="<｜tool▁call▁begin｜>",
    head="[^\n]*<｜tool▁sep｜>(?P<name>[^\n]+?)\\s*",
    arguments_openers=("```json",),
    call_closers=("<｜tool▁call▁end｜>",),
    native_when_forced=True,
)
_TOOL_CALLS_ARRAY = JsonCalls(openers=("<tool_calls>",), closers=("</tool_calls>",), eager=False, after="drop")
_QWEN3_CODER = Tagged(
    openers=("<tool_call>",),
    closers=("</tool_call>",),
    call_opener="<function=",
    call_closers=("</function>",),
    key_opener="<parameter=",
    value_closers=("</parameter>",),
    trims_newline=True,
    tokens=("<tool_call>", "</tool_call>"),
    token_based=True,
    native_when_forced=True,
    blanks="drop",
    strip=True,
)
_GLM = Tagged(
    call_opener="<tool_call>",
    call_closers=("</tool_call>",),
    name_closers=("<arg_key>", "</tool_call>"),
    key_opener="<arg_key>",
    key_closer="</arg_key>",
    value_opener="<arg_value>",
    value_closers=("</arg_value>",),
    tokens=("<tool_call>", "</tool_call>", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"),
    token_based=True,
    native_when_forced=True,
    unknown="drop",
    blanks="drop",
    strip=True,
)
_INVOKE = Tagged(
    call_opener="<invoke name=",
    call_closers=("</invoke>",),
    key_opener="<parameter name=",
    value_closers=("</parameter>",),
    token_based=True,
    native_when_forced=True,
    blanks="drop",
    strip=True,
)
_DSML = replace(
    _INVOKE,
    openers=("<｜DSML｜function_calls>",),
    closers=("</｜DSML｜function_calls>",),
    call_opener="<｜DSML｜invoke name=",
    call_closers=("</｜DSML｜invoke>",),
    key_opener="<｜DSML｜parameter name=",
    value_closers=("</｜DSML｜parameter>",),
    after="drop",
    strip=False,
)

TOOLS: dict[str, ToolFormat] = {
    "hermes": _HERMES,
    "qwen3_json": _HERMES,
    "longcat": replace(_HERMES, openers=("<longcat_tool_call>",), closers=("</longcat_tool_call>",)),
    "llama3_json": _LLAMA,
    "llama4_json": _LLAMA,
    "deepseek_v3": _DEEPSEEK_V3,
    "deepseek_v31": replace(
        _DEEPSEEK_V3, head=r"\s*(?P<name>.+?)\s*", arguments_openers=("<｜tool▁sep｜>",), after="drop"
    ),
    "kimi_k2": JsonCalls(
        openers=("<|tool_calls_section_begin|>",),
        closers=("<|tool_calls_section_end|>",),
        call_opener="<|tool_call_begin|>",
        head=r"\s*(?P<id>(?:functions\.)?(?P<name>[^\s:]+):\d+)\s*",
        arguments_openers=("<|tool_call_argument_begin|>",),
        call_closers=("<|tool_call_end|>",),
        tokens=(
            "<|tool_calls_section_begin|>",
            "<|tool_calls_section_end|>",
            "<|tool_call_begin|>",
            "<|tool_call_end|>",
            "<|tool_call_argument_begin|>",
        ),
        token_based=True,
        native_when_forced=True,
        after="drop",
        blanks="drop",
        id_form="kimi",
    ),
    "mistral": JsonCalls(
        openers=("[TOOL_CALLS]",),
        head=r"\s*(?P<name>[^\s\[{]+)\s*(?:\[CALL_ID\].*)?",
        arguments_openers=("[ARGS]", "{"),
        tokens=("[TOOL_CALLS]", "[ARGS]", "[CALL_ID]"),
        token_based=True,
        native_when_forced=True,
        after="drop",
        blanks="drop",
        strip=True,
        id_form="mistral",
    ),
    "granite": JsonCalls(openers=("<|tool_call|>", "<tool_call>"), closers=(), eager=False, after="drop", strip=True),
    "granite4": JsonCalls(openers=("<tool_call>",), closers=("</tool_call>",)),
    "granite-20b-fc": JsonCalls(openers=("<function_call>",), after="drop"),
    "gigachat3": JsonCalls(openers=("<|function_call|>", "function call"), eager=False, after="drop"),
    "hunyuan_a13b": _TOOL_CALLS_ARRAY,
    "jamba": _TOOL_CALLS_ARRAY,
    "internlm": JsonCalls(
        openers=("<|action_start|><|plugin|>",),
        closers=("<|action_end|>",),
        arguments=("parameters", "arguments"),
        after="drop",
    ),
    "ernie45": JsonCalls(openers=("<tool_call>",), closers=("</tool_call>",), after="drop"),
    "apertus": JsonCalls(openers=("<|tools_prefix|>",), closers=("<|tools_suffix|>",), keyed=True, strip=True),
    "phi4_mini_json": JsonCalls(
        openers=("functools",), arguments=("arguments", "parameters"), eager=False, after="drop"
    ),
    "xlam": JsonCalls(openers=("```json", "[TOOL_CALLS]", "<tool_call>"), bare=True, eager=False, after="drop"),
    "qwen3_coder": _QWEN3_CODER,
    "qwen3_xml": _QWEN3_CODER,
    "mimo": replace(_QWEN3_CODER, trims_newline=False),
    "seed_oss": replace(
        _QWEN3_CODER,
        openers=("<seed:tool_call>",),
        closers=("</seed:tool_call>",),
        tokens=("<seed:tool_call>", "</seed:tool_call>"),
        trims_newline=False,
        native_when_forced=False,
    ),
    "glm45": _GLM,
    "glm47": _GLM,
    "ling3": _GLM,
    "minimax_m2": replace(
        _INVOKE,
        openers=("<minimax:tool_call>",),
        closers=("</minimax:tool_call>",),
        tokens=("<minimax:tool_call>", "</minimax:tool_call>"),
        unknown="drop",
    ),
    "deepseek_v32": _DSML,
    "step3": replace(
        _INVOKE,
        openers=("<｜tool_calls_begin｜>",),
        closers=("<｜tool_calls_end｜>",),
        call_opener="<steptml:invoke name=",
        call_closers=("</steptml:invoke>",),
        key_opener="<steptml:parameter name=",
        value_closers=("</steptml:parameter>",),
        token_based=False,
        native_when_forced=False,
        blanks="keep",
    ),
    "minicpm5": replace(
        _INVOKE,
        call_opener="<function name=",
        call_closers=("</function>",),
        key_opener="<param name=",
        value_closers=("</param>",),
        token_based=False,
        native_when_forced=False,
        unknown="text",
        cut="bare",
    ),
    "pythonic": PythonCalls(bare=True, after="drop"),
    "llama4_pythonic": PythonCalls(
        openers=("<|python_start|>",), closers=("<|python_end|>",), bare=True, after="drop", native_when_forced=False
    ),
    "lfm2": PythonCalls(openers=("<|tool_call_start|>",), closers=("<|tool_call_end|>",), strip=True),
    "olmo3": PythonCalls(openers=("<function_calls>",), closers=("</function_calls>",), after="drop"),
    "gemma4": GemmaCalls(
        openers=("<|tool_call>",),
        closers=("<tool_call|>",),
        quote='<|"|>',
        tokens=("<|tool_call>", "<tool_call|>", '<|"|>'),
        token_based=True,
        native_when_forced=True,
        blanks="drop",
        strip=True,
    ),
    "functiongemma": GemmaCalls(
        openers=("<start_function_call>",), closers=("<end_function_call>",), quote="<escape>", json_words=True
    ),
}
