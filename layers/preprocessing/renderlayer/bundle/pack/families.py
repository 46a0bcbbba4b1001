"""Parsers that suit a model, and model families that are not rendered by a template (wire.md 3.7, 7.4, 7.5)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from renderlayer.bundle.pack.source import ModelSource
from renderlayer.errors import ConfigurationError

HARMONY, MISTRAL = "harmony", "mistral"
_PROGRAMS = {"DeepseekV32": "deepseek_v32", "DeepseekV4": "deepseek_v4"}
"""Renderers of families whose prompts are text that a program writes, by the start of their architecture's name."""
_PARSERS = {"deepseek_v32": ("deepseek_v32", "deepseek_v3"), "deepseek_v4": ("deepseek_v4", "deepseek_v4")}
_UNSUPPORTED = {
    "Alpamayo2Super": "alpamayo2_super, which needs a tokenizer of its own",
    "DeepseekV41": "deepseek_v41, whose prompts are not known well enough",
    "Inkling": "inkling, whose prompts are written token by token",
    "KimiK3": "kimi_k3, whose prompts are written token by token",
    "MoonshotKimia": "kimi_audio, which needs a tokenizer of its own",
    "Terratorch": "terratorch, which has no token ids",
}
"""Families that need a renderer of their own, and have none here, by the start of their architecture's name."""


class Family(NamedTuple):
    """Parsers of the models whose templates hold all of `markers`; the first row that fits wins."""

    markers: tuple[str, ...]
    tool: str
    reasoning: str = ""
    """"": by how the template switches thinking."""


FAMILIES = (
    Family(("<minimax:tool_call>",), "minimax_m2", "minimax_m2"),
    Family(("<mm:think>",), "minimax_m3", "minimax_m3"),
    Family(("DSML", "function_calls"), "deepseek_v32", "deepseek_v3"),
    Family(("DSML",), "deepseek_v4", "deepseek_v4"),
    Family(("<｜tool▁calls▁begin｜>", "```json"), "deepseek_v3"),
    Family(("<｜tool▁calls▁begin｜>",), "deepseek_v31", "deepseek_v3"),
    Family(("steptml:",), "step3", "step3"),
    Family(("<seed:tool_call>",), "seed_oss", "seed_oss"),
    Family(("<longcat_tool_call>",), "longcat"),
    Family(("<arg_key>",), "glm45", "glm45"),
    Family(("<|tool_calls_section_begin|>",), "kimi_k2", "kimi_k2"),
    Family(("<|tool_call>call:",), "gemma4", "gemma4"),
    Family(("<start_function_call>",), "functiongemma"),
    Family(("<|tools_prefix|>",), "apertus"),
    Family(("<|START_ACTION|>",), "cohere_command3", "cohere_command3"),
    Family(("functools[",), "phi4_mini_json"),
    Family(("<|action_start|>", "<|plugin|>"), "internlm"),
    Family(("<|tool_list_start|>",), "lfm2"),
    Family(("<|tool_call_start|>",), "lfm2"),
    Family(("<function_calls>",), "olmo3", "olmo3"),
    Family(("<atem:function_calls>",), "muse_glimmer", "muse_glimmer"),
    Family(('<function name="', "<param name="), "minicpm5"),
    Family(("<tool_sep", "<tool_calls"), "hy_v3", "hy_v3"),
    Family(("<function=", "<parameter="), "qwen3_coder"),
    Family(("[TOOL_CALLS]", "[THINK]"), "mistral", "mistral"),
    Family(("[TOOL_CALLS]",), "mistral"),
    Family(("<|python_start|>", '"parameters"'), "llama4_json"),
    Family(("<|python_start|>",), "llama4_pythonic"),
    Family(("<|python_tag|>", "<|start_header_id|>", '"parameters"'), "llama3_json"),
    Family(("dictionary of argument name", "<|start_header_id|>"), "llama3_json"),
    Family(("<|tool_call|>", "<|start_of_role|>", "Here is my thought process"), "granite", "granite"),
    Family(("<|tool_call|>", "<|start_of_role|>"), "granite"),
    Family(("<tool_call>", "<|start_of_role|>"), "granite4"),
    Family(("<tool_calls>", "<|bom|>"), "jamba"),
    Family(("<tool_calls>[",), "hunyuan_a13b"),
    Family(("<tool_calls>", "<beginning_of_sentence>"), "hunyuan_a13b"),
    Family(("<|open|>", "<|close|>", "<|sep|>"), "kimi_k3", "kimi_k3"),
    Family(("List of tools: [",), "lfm2"),
    Family(("function_call", "<|role_sep|>"), "gigachat3"),
    Family(("<tool_call>", "</tool_call>"), "hermes"),
    Family(("xml_tools",), "hermes"),
)


def check_supported(source: ModelSource) -> None:
    """Refuse a family that cannot be rendered.

    Raises:
        ConfigurationError: names the family.
    """
    for architecture in _architectures(source):
        if reason := unsupported(architecture):
            raise ConfigurationError(f"{source.name} cannot be packed: it belongs to the family {reason}")


def unsupported(architecture: str) -> str:
    """The family of an architecture that cannot be packed, and why; "" for all others."""
    return next((reason for start, reason in _UNSUPPORTED.items() if architecture.startswith(start)), "")


def is_harmony(source: ModelSource) -> bool:
    """Whether prompts are harmony's (wire.md 3.8)."""
    return source.config.get("model_type") == "gpt_oss"


def renderer_of(source: ModelSource) -> str:
    """What writes the prompts of a family without a template; "" where a template does (wire.md 3.7)."""
    if is_harmony(source):
        return HARMONY
    if mistral_file(source):
        return MISTRAL
    names = (name for start, name in _PROGRAMS.items() for row in _architectures(source) if row.startswith(start))
    return next(names, "")


def keeps_texts(source: ModelSource) -> bool:
    """Whether the renderer encodes texts apart from special tokens, with a tokenizer that would recognise them."""
    return renderer_of(source) == HARMONY


def mistral_file(source: ModelSource) -> Path | None:
    """The tokenizer file in Mistral's own form, if the model has one."""
    candidates = [source.folder / "tekken.json", *sorted(source.folder.glob("tokenizer.model.v*"), reverse=True)]
    return next((path for path in candidates if path.is_file()), None)


def response_template(source: ModelSource) -> dict[str, Any]:
    """How the tokenizer describes the model's answers (wire.md 7.1): its configuration's, else a file of its own."""
    given = source.tokenizer_config.get("response_template")
    return given if isinstance(given, dict) else source.json("response_template.json")


def suitable_parsers(source: ModelSource, templates: Sequence[str], is_token: Callable[[str], bool]) -> tuple[str, str]:
    """Names of the tool and the reasoning parser that suit the model; "" where none is known.

    Args:
        templates: the model's chat templates.
        is_token: whether a text is one token of the vocabulary.
    """
    if is_harmony(source):
        return "openai", "openai_gptoss"
    if mistral_file(source):
        return "mistral", "mistral" if is_token("[THINK]") else ""
    if renderer_of(source) in _PARSERS:
        return _PARSERS[renderer_of(source)]
    text = "\n".join(templates)
    row = next((row for row in FAMILIES if all(marker in text for marker in row.markers)), None)
    fields = response_template(source).get("fields")
    if row is None and isinstance(fields, dict) and "tool_calls" in fields:
        return "hf", "hf" if "thinking" in fields else ""
    row = row or Family((), "")
    return row.tool, row.reasoning or (_thinking_parser(source, text) if is_token("</think>") else "")


def _architectures(source: ModelSource) -> list[str]:
    return source.config.get("architectures") or []


def _thinking_parser(source: ModelSource, text: str) -> str:
    """The parser for `<think>` … `</think>`, by how the template or the family switches thinking."""
    if "</think>" not in text:
        return ""
    architectures = " ".join(_architectures(source))
    if "NemotronH" in architectures:
        return "nemotron_v3"
    return "qwen3" if "enable_thinking" in text or "Qwen3" in architectures else "deepseek_r1"
