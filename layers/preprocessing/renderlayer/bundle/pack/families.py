"""Parsers that suit a model, and model families that are not rendered by a template (wire.md 3.7, 7.4, 7.5)."""

from __future__ import annotations

from dataclasses import dataclass

from renderlayer.bundle.pack.source import ModelSource
from renderlayer.errors import ConfigurationError

_UNSUPPORTED = {
    "DeepseekV32": "deepseek_v32, whose prompts come from a program instead of a chat template",
    "DeepseekV4": "deepseek_v4, whose prompts come from a program instead of a chat template",
    "KimiK3": "kimi_k3, whose prompts are written token by token",
    "Inkling": "inkling, whose prompts are written token by token",
    "MoonshotKimia": "kimi_audio, which needs a tokenizer of its own",
    "Alpamayo2Super": "alpamayo2_super, which needs a tokenizer of its own",
    "Terratorch": "terratorch, which has no token ids",
}
"""Families with a renderer of their own, by the start of their architecture's name."""


@dataclass(frozen=True)
class Family:
    """A row of the table of parsers: the row of the first marker found in the template wins.

    Args:
        marker: text that must occur in the model's templates.
        tool: tool parser.
        reasoning: reasoning parser.
    """

    marker: str
    tool: str
    reasoning: str = ""


FAMILIES = (
    Family("<minimax:tool_call>", "minimax_m2", "minimax_m2"),
    Family("<｜DSML｜", "deepseek_v32", "deepseek_v3"),
    Family("<seed:tool_call>", "seed_oss", "seed_oss"),
    Family("<longcat_tool_call>", "longcat"),
    Family("<arg_key>", "glm45", "glm45"),
    Family("<|tool_calls_section_begin|>", "kimi_k2", "kimi_k2"),
    Family("<steptml:", "step3", "step3"),
    Family("<|tool_call>call:", "gemma4", "gemma4"),
    Family("<start_function_call>", "functiongemma"),
    Family("<|tools_prefix|>", "apertus"),
    Family("<|START_ACTION|>", "cohere_command3", "cohere_command3"),
    Family("functools[", "phi4_mini_json"),
    Family("<|action_start|>", "internlm"),
    Family("<|tool_call_start|>", "lfm2"),
    Family("<function_calls>", "olmo3", "olmo3"),
    Family("<function=", "qwen3_coder"),
    Family("[TOOL_CALLS]", "mistral"),
    Family("[/TOOL_CALLS]", "mistral"),
    Family("<|python_start|>", "llama4_pythonic"),
    Family("<|python_tag|>", "llama3_json"),
    Family("<|tool_call|>", "granite"),
    Family("<tool_call>", "hermes"),
)


def check_supported(source: ModelSource) -> None:
    """Refuse a family that cannot be rendered.

    Raises:
        ConfigurationError: names the family.
    """
    for architecture in source.config.get("architectures") or []:
        for start, reason in _UNSUPPORTED.items():
            if architecture.startswith(start):
                raise ConfigurationError(f"{source.name} cannot be packed: it belongs to the family {reason}")
    if (source.folder / "tekken.json").is_file() and not (source.folder / "tokenizer.json").is_file():
        raise ConfigurationError(
            f"{source.name} cannot be packed: it belongs to the family mistral, whose prompts are written by "
            "mistral-common, and has no tokenizer.json"
        )


def is_harmony(source: ModelSource) -> bool:
    """Whether prompts are harmony's (wire.md 3.8)."""
    return source.config.get("model_type") == "gpt_oss"


def suitable_parsers(source: ModelSource, templates: list[str]) -> tuple[str, str]:
    """Names of the tool and the reasoning parser that suit the model; "" where none is known.

    Args:
        templates: the model's chat templates.
    """
    if is_harmony(source):
        return "openai", "openai_gptoss"
    text = "\n".join(templates)
    if "<｜tool▁calls▁begin｜>" in text:
        tool = "deepseek_v3" if "```json" in text else "deepseek_v31"
        return tool, _thinking(source, text)
    row = next((row for row in FAMILIES if row.marker in text), Family("", ""))
    return row.tool, row.reasoning or _thinking(source, text)


def _thinking(source: ModelSource, text: str) -> str:
    """The parser of a template that spells `<think>`, by how thinking is switched."""
    if "</think>" not in text:
        return ""
    architecture = " ".join(source.config.get("architectures") or [])
    if "enable_thinking" in text or "Qwen3" in architecture:
        return "qwen3"
    return "deepseek_r1"
