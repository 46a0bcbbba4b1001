"""The reasoning formats by name (wire.md 7.5)."""

from __future__ import annotations

from dataclasses import replace

from renderlayer.parsers.core.message_frames import MessageFormat
from renderlayer.parsers.reasoning.reasoning_format import (
    ALWAYS,
    EFFORT,
    EITHER,
    ENABLE,
    NO_THINK,
    OPT_IN,
    ReasoningFormat,
)

_R1 = ReasoningFormat()
_QWEN3 = ReasoningFormat(ends=("<tool_call>",), switch=ENABLE, token_based=True)
_GLM = ReasoningFormat(
    ends=("<tool_call>",),
    switch=EITHER,
    token_based=True,
    trim=True,
    reopens=True,
    turns=("<|system|>", "<|user|>", "<|assistant|>", "<|observation|>"),
)
_DEEPSEEK_V3 = ReasoningFormat(switch=OPT_IN)
_SEED = ReasoningFormat(
    opens=("<seed:think>",),
    closes=("</seed:think>",),
    ends=("<seed:tool_call>",),
    switch=ENABLE,
    token_based=True,
)
_MINIMAX = ReasoningFormat(ends=("<minimax:tool_call>",), token_based=True, trim=True)
_DEEPSEEK_V4 = ReasoningFormat(ends=("<｜DSML｜tool_calls>",), switch=EFFORT, token_based=True, trim=True, reopens=True)
_COHERE_TEXT = ("<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>")
_COHERE = ReasoningFormat(
    opens=("<|START_THINKING|>",),
    closes=("<|END_THINKING|>",),
    ends=("<|START_ACTION|>", "<|START_RESPONSE|>", "<|START_TEXT|>"),
    starts=False,
    tokens=_COHERE_TEXT,
    token_based=True,
    trim=True,
    reopens=True,
    swallowed=_COHERE_TEXT,
    ended=True,
)
_HY = ReasoningFormat(
    opens=("<think{}>",),
    closes=("</think{}>",),
    ends=("<tool_calls{}>",),
    switch=NO_THINK,
    token_based=True,
    turns=("<｜hy_User{}｜>", "<｜hy_Assistant{}｜>"),
)
_MUSE_KINDS = {
    "": "reasoning",
    "self": "reasoning",
    "user": "content",
    "commentary": "content",
    "developer": "drop",
    "*": "content",
}
_MUSE = MessageFormat(start="<|start|>", bodies=("<|message|>",), ends=("<|eom|>", "<|eot|>"), kinds=_MUSE_KINDS)

REASONING: dict[str, ReasoningFormat | MessageFormat] = {
    "deepseek_r1": _R1,
    "step5": _R1,
    "deepseek_v3": _DEEPSEEK_V3,
    "holo2": replace(_DEEPSEEK_V3, switch=EITHER),
    "qwen3": _QWEN3,
    "mimo": _QWEN3,
    "nemotron_v3": _QWEN3,
    "minicpmv": replace(_QWEN3, reopens=True),
    "glm45": _GLM,
    "glm47": _GLM,
    "ling3": _GLM,
    "kimi_k2": ReasoningFormat(ends=("<|tool_calls_section_begin|>",), switch=EITHER, token_based=True, trim=True),
    "mistral": ReasoningFormat(
        opens=("[THINK]",),
        closes=("[/THINK]",),
        ends=("[TOOL_CALLS]",),
        starts=False,
        token_based=True,
        reopens=True,
    ),
    "minimax_m2": _MINIMAX,
    "minimax_m2_append_think": ReasoningFormat(prefix="<think>"),
    "granite": ReasoningFormat(
        opens=("Here is my thought process:", "Here's my thought process:"),
        closes=("Here is my response:", "Here's my response:"),
        starts=False,
        trim=True,
        lead="\n",
        eats_space=True,
        ended=None,
    ),
    "gemma4": ReasoningFormat(
        opens=("<|channel>",),
        closes=("<channel|>",),
        ends=("<|tool_call>",),
        starts=False,
        token_based=True,
        trim=True,
        lead="thought\n",
        reopens=True,
        ended=True,
        awaited=("enable_thinking",),
    ),
    "seed_oss": _SEED,
    "step3": ReasoningFormat(),
    "ernie45": ReasoningFormat(tail="<response>", eats_space=True, swallowed=("</response>",)),
    "hunyuan_a13b": ReasoningFormat(
        starts=False, trim=True, lead="\n", tail="<answer>", eats_space=True, swallowed=("</answer>",)
    ),
    "olmo3": ReasoningFormat(ends=("<function_calls>",)),
    "identity": ReasoningFormat(opens=(), closes=(), starts=False, ended=True),
    "step3p5": replace(_QWEN3, switch=ALWAYS),
    "granite_thinking_parser": ReasoningFormat(switch=ENABLE, token_based=True, trim=True, reopens=True),
    "deepseek_v4": _DEEPSEEK_V4,
    "deepseek_v41": _DEEPSEEK_V4,
    "poolside_v1": _GLM,
    "minimax_m3": replace(
        _MINIMAX,
        opens=("<mm:think>",),
        closes=("</mm:think>",),
        ends=("]<]minimax[>[<tool_call>",),
        starts=False,
        ended=True,
    ),
    "plamo3": ReasoningFormat(
        opens=("<|plamo:begin_think:plamo|>",),
        closes=("<|plamo:end_think:plamo|>",),
        ends=("<|plamo:begin_tool_requests:plamo|>",),
        switch=ENABLE,
        lead="<|plamo:msg|>",
    ),
    "k2_horizon": ReasoningFormat(
        opens=("<ifm|think>", "<ifm|think_fast>", "<ifm|think_faster>"),
        closes=("</ifm|think>", "</ifm|think_fast>", "</ifm|think_faster>"),
        token_based=True,
        trim=True,
        reopens=True,
    ),
    "cohere_command3": _COHERE,
    "cohere_command4": _COHERE,
    "hy_v3": replace(_HY, switch=replace(NO_THINK, default=False)),
    "hy_v4": _HY,
    "kimi_k3": ReasoningFormat(
        opens=("<|open|>think<|sep|>",),
        closes=("<|close|>think<|sep|>",),
        ends=("<|open|>response<|sep|>", "<|open|>tools<|sep|>"),
        switch=EITHER,
        tokens=("<|open|>", "<|close|>", "<|sep|>"),
        token_based=True,
        trim=True,
        swallowed=("<|open|>response<|sep|>", "<|close|>response<|sep|>", "<|close|>message<|sep|>"),
    ),
    "muse": _MUSE,
    "musespark1x": _MUSE,
    "muse_glimmer": replace(_MUSE, kinds=_MUSE_KINDS | {"": "content"}),
    "inkling": MessageFormat(
        start="<|message_model|>",
        bodies=("<|content_thinking|>", "<|content_text|>", "<|content_invoke_tool_json|>"),
        ends=("<|end_message|>", "<|content_model_end_sampling|>"),
        kinds={
            "<|content_thinking|>": "reasoning",
            "<|content_text|>": "content",
            "<|content_invoke_tool_json|>": "tool",
        },
    ),
}
