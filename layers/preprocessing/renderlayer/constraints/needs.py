"""What each tool and reasoning parser needs of a request (wire.md 2.7)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from renderlayer.constraints.structural_tags.tools import HARMONY, HUNYUAN, HUNYUAN_FRAME, KIMI_K3, MUSE

# How far calls are constrained: only what a strict tool or tool_choice demands, every call's frame and name, or the
# arguments of all tools, too.
Level = Literal["auto", "function", "parameter"]


@dataclass(frozen=True)
class ToolNeeds:
    """What a tool parser asks of a request.

    Attributes:
        tag: structural-tag model that constrains its calls; "" for none.
        held: the model by which the front door holds demanded calls to their schemas, where it is another.
        demanded_only: the tag is for demanded calls.
        forced: without a tag, how a demanded call is written: as JSON by its schema, as Mistral's JSON, or in the
            parser's own format, unconstrained.
        special_tokens: when the special tokens must stay in the text: never, with tools in play, unless tool_choice is
            "none", or always.
        level: the level when the operator sets none.
    """

    tag: str = ""
    held: str = ""
    demanded_only: bool = False
    forced: Literal["schema", "mistral", "native"] = "schema"
    special_tokens: Literal["never", "tools", "choice", "always"] = "never"
    level: Level = "auto"


NO_NEEDS = ToolNeeds()
_KEEPS_WITH_TOOLS = ToolNeeds(special_tokens="tools")
_KEEPS_ALWAYS = ToolNeeds(special_tokens="always")
_NATIVE = ToolNeeds(forced="native")
_MUSE = ToolNeeds(held=MUSE, forced="native", special_tokens="always")
_TEMPLATED = ToolNeeds(forced="native", special_tokens="always")
_GLM = ToolNeeds("glm_4_7", special_tokens="always", level="function")
_HERMES = ToolNeeds("hermes", special_tokens="tools")
_LLAMA = ToolNeeds("llama")
_QWEN_XML = ToolNeeds("qwen_3_coder", special_tokens="always")

# Rows for the names of wire.md 7.4; a name that is not here needs nothing but the schema of a demanded call.
TOOL_NEEDS: dict[str, ToolNeeds] = {
    "apertus": _KEEPS_WITH_TOOLS,
    "beam": _TEMPLATED,
    "cohere_command3": _KEEPS_WITH_TOOLS,
    "cohere_command4": _KEEPS_WITH_TOOLS,
    "deepseek_v3": ToolNeeds("deepseek_r1"),
    "deepseek_v31": ToolNeeds("deepseek_v3_1"),
    "deepseek_v32": ToolNeeds("deepseek_v3_2", special_tokens="always"),
    "deepseek_v4": ToolNeeds("deepseek_v4", special_tokens="always"),
    "deepseek_v41": ToolNeeds("deepseek_v4_1", special_tokens="always"),
    "dots": replace(_NATIVE, held="dots"),
    "functiongemma": _KEEPS_WITH_TOOLS,
    "gemma4": ToolNeeds(held="gemma4", forced="native", special_tokens="always"),
    "gigachat3": _KEEPS_WITH_TOOLS,
    "glm45": _GLM,
    "glm47": _GLM,
    "granite": _KEEPS_ALWAYS,
    "granite4": _KEEPS_WITH_TOOLS,
    "hermes": _HERMES,
    "hf": _TEMPLATED,
    "hy_v4": ToolNeeds(HUNYUAN_FRAME, held=HUNYUAN, demanded_only=True),
    "inkling": ToolNeeds(forced="native", special_tokens="always"),
    "internlm": _KEEPS_WITH_TOOLS,
    "jamba": _KEEPS_WITH_TOOLS,
    "k2_horizon": replace(_NATIVE, held="k2_horizon"),
    "kimi_k2": ToolNeeds("kimi", special_tokens="tools"),
    "kimi_k3": ToolNeeds(KIMI_K3, special_tokens="always"),
    "lfm2": _KEEPS_WITH_TOOLS,
    "ling3": replace(_GLM, level="auto"),
    "llama3_json": _LLAMA,
    "llama4_json": _LLAMA,
    "longcat": ToolNeeds("longcat", special_tokens="tools"),
    "mimo": ToolNeeds("mimo", special_tokens="always"),
    "minicpm5": _KEEPS_WITH_TOOLS,
    "minimax_m2": ToolNeeds("minimax", special_tokens="always"),
    "minimax_m3": replace(_NATIVE, held="minimax_m3"),
    "mistral": ToolNeeds(forced="mistral", special_tokens="choice"),
    "muse": _MUSE,
    "muse_glimmer": _MUSE,
    "musespark1x": _MUSE,
    "openai": ToolNeeds(HARMONY),
    "plamo3": ToolNeeds("plamo3", special_tokens="always"),
    "poolside_v1": ToolNeeds(held="glm_4_7", forced="native", special_tokens="tools"),
    "qwen3_coder": _QWEN_XML,
    "qwen3_json": _HERMES,
    "qwen3_xml": _QWEN_XML,
    "seed_oss": _KEEPS_ALWAYS,
    "step3": _KEEPS_WITH_TOOLS,
    "step3p5": _QWEN_XML,
    "step5": _QWEN_XML,
}

# Reasoning parsers whose markers are special tokens: these must stay in the text, tools or not.
KEEPING_REASONING_PARSERS = frozenset(
    {
        "beam",
        "deepseek_v4",
        "deepseek_v41",
        "gemma4",
        "glm45",
        "glm47",
        "granite_thinking_parser",
        "hf",
        "inkling",
        "kimi_k2",
        "kimi_k3",
        "ling3",
        "mimo",
        "minicpmv",
        "minimax_m2",
        "muse",
        "muse_glimmer",
        "musespark1x",
        "nemotron_v3",
        "plamo3",
        "qwen3",
        "seed_oss",
        "step3p5",
    }
)
