"""Parsers that suit a model, by the markers in its template."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from renderlayer.bundle.pack.families import FAMILIES, suitable_parsers
from renderlayer.bundle.pack.source import ModelSource


def parsers(template: str, tokens: bool = True, **config: Any) -> tuple[str, str]:
    source = ModelSource(Path("nowhere"), "model")
    source.config = config
    return suitable_parsers(source, [template], lambda text: tokens)


@pytest.mark.parametrize(
    ("template", "config", "expected"),
    [
        ("<tool_call></tool_call>", {}, ("hermes", "")),
        ("<tool_call></tool_call></think>{{ enable_thinking }}", {}, ("hermes", "qwen3")),
        ("<tool_call></tool_call></think>", {"architectures": ["Qwen3ForCausalLM"]}, ("hermes", "qwen3")),
        (
            "<tool_call><function=x><parameter=y></think>",
            {"architectures": ["NemotronHForCausalLM"]},
            ("qwen3_coder", "nemotron_v3"),
        ),
        ("<｜tool▁calls▁begin｜>\n```json", {}, ("deepseek_v3", "")),
        ("<｜tool▁calls▁begin｜>\n```json</think>", {}, ("deepseek_v3", "deepseek_r1")),
        ("<｜tool▁calls▁begin｜></think>", {}, ("deepseek_v31", "deepseek_v3")),
        ("<|start_header_id|> dictionary of argument name", {}, ("llama3_json", "")),
        ('<|python_start|> {"name": function name, "parameters": dictionary}', {}, ("llama4_json", "")),
        ("<|python_start|>[func_name(params_name=value)]", {}, ("llama4_pythonic", "")),
        ("within <tool_call></tool_call>: <tool_calls>[", {}, ("hunyuan_a13b", "")),
        ("[TOOL_CALLS][THINK]", {}, ("mistral", "mistral")),
        ("{{ messages }}", {}, ("", "")),
        ("anything", {"model_type": "gpt_oss"}, ("openai", "openai_gptoss")),
    ],
)
def test_markers(template: str, config: dict[str, Any], expected: tuple[str, str]) -> None:
    assert parsers(template, **config) == expected


def test_a_response_template_serves_where_no_family_does() -> None:
    source = ModelSource(Path("nowhere"), "model")
    source.config = {}
    source.tokenizer_config = {"response_template": {"fields": {"thinking": {}, "tool_calls": {}}}}

    assert suitable_parsers(source, ["{{ messages }}"], lambda text: True) == ("hf", "hf")
    assert suitable_parsers(source, ["<tool_call></tool_call>"], lambda text: True) == ("hermes", "")


def test_thinking_needs_its_tokens() -> None:
    assert parsers("</think>{{ enable_thinking }}", tokens=False) == ("", "")


def test_rows_are_reachable() -> None:
    for row in FAMILIES:
        assert parsers("\n".join(row.markers))[0] == row.tool
