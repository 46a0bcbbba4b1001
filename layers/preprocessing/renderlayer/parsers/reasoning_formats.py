"""The reasoning formats by name (wire.md 7.5)."""

from __future__ import annotations

from dataclasses import replace

from renderlayer.parsers.reasoning import ReasoningFormat

_R1 = ReasoningFormat()
_QWEN3 = ReasoningFormat(ends=("<tool_call>",), switch="unless_off", token_based=True, reopens=True)
_GLM = ReasoningFormat(starts=False, switch="unless_off", token_based=True, trim=True, reopens=True, ended=True)
_DEEPSEEK_V3 = ReasoningFormat(switch="if_on", off_is_plain=True)
_SEED = ReasoningFormat(
    opens=("<seed:think>",),
    closes=("</seed:think>",),
    ends=("<seed:tool_call>",),
    switch="unless_off",
    token_based=True,
    reopens=True,
)
_MINIMAX = ReasoningFormat(ends=("<minimax:tool_call>",), token_based=True, trim=True, reopens=True)

REASONING: dict[str, ReasoningFormat] = {
    "deepseek_r1": _R1,
    "step5": _R1,
    "deepseek_v3": _DEEPSEEK_V3,
    "holo2": replace(_DEEPSEEK_V3, switch="unless_off"),
    "qwen3": _QWEN3,
    "mimo": _QWEN3,
    "nemotron_v3": _QWEN3,
    "minicpmv": _QWEN3,
    "glm45": _GLM,
    "glm47": _GLM,
    "ling3": _GLM,
    "kimi_k2": ReasoningFormat(
        ends=("<|tool_calls_section_begin|>",), switch="unless_off", token_based=True, trim=True, reopens=True
    ),
    "mistral": ReasoningFormat(opens=("[THINK]",), closes=("[/THINK]",), starts=False, token_based=True, reopens=True),
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
        starts=False,
        token_based=True,
        lead="thought\n",
        reopens=True,
        ended=True,
    ),
    "seed_oss": _SEED,
    "step3": ReasoningFormat(),
    "ernie45": ReasoningFormat(tail="<response>", eats_space=True, swallowed=("</response>",)),
    "hunyuan_a13b": ReasoningFormat(
        starts=False, trim=True, lead="\n", tail="<answer>", eats_space=True, swallowed=("</answer>",)
    ),
    "olmo3": ReasoningFormat(ends=("<function_calls>",)),
    "identity": ReasoningFormat(opens=(), closes=(), starts=False, ended=True),
}
