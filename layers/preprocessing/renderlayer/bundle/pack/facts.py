"""The facts of a model, gathered from its configuration files."""

from __future__ import annotations

from typing import Any

from renderlayer.bundle.pack.families import is_harmony, renderer_of, response_template, suitable_parsers
from renderlayer.bundle.pack.limits import derive_max_model_len, text_config
from renderlayer.bundle.pack.source import ModelSource
from renderlayer.bundle.pack.templates import processor_template, tokenizer_templates
from renderlayer.bundle.pack.thinking import thinking_switches
from renderlayer.bundle.pack.tokenizer import Reference
from renderlayer.bundle.templates import DEFAULT


def describe_facts(
    source: ModelSource,
    reference: Reference,
    tokenizer: dict[str, Any],
    templates: dict[str, Any],
    longest_token: int,
    versions: dict[str, str],
) -> dict[str, Any]:
    """The `facts` object of `bundle.json` (`renderlayer.bundle.facts`)."""
    texts = [*tokenizer_templates(source).values(), processor_template(source) or ""]
    tool_parser, reasoning_parser = suitable_parsers(
        source, texts, lambda text: reference.full.token_to_id(text) is not None
    )
    main = templates["processor"] or templates["named"].get(DEFAULT) or {}
    eos = reference.named.get("eos_token")
    return {
        "name": source.name,
        "model_type": source.config.get("model_type", ""),
        "architectures": source.config.get("architectures") or [],
        "max_model_len": derive_max_model_len(source.config),
        "generation_config": source.json("generation_config.json"),
        "eos_token_id": reference.full.token_to_id(eos) if eos else None,
        "eos_token_ids": _eos_ids(source),
        "special_tokens": reference.named,
        "content_format": main.get("content_format", "string"),
        "tool_parser": tool_parser,
        "reasoning_parser": reasoning_parser,
        "thinking_switches": thinking_switches(_main_template(source), reference.named),
        "response_template": response_template(source),
        "harmony": is_harmony(source),
        "renderer": renderer_of(source),
        "renderer_options": reference.options,
        "tokenizer_engine": tokenizer["engine"],
        "template_engine": main.get("engine", ""),
        "longest_token": longest_token,
        "config": source.config,
        "processor": source.processor,
        "fingerprint": "",
        "versions": versions,
    }


def _main_template(source: ModelSource) -> str:
    """The template of a request without tools; "" where there is none."""
    return processor_template(source) or tokenizer_templates(source).get(DEFAULT) or ""


def _eos_ids(source: ModelSource) -> list[int]:
    """EOS ids of generation_config.json, else of config.json where there is no such file (wire.md 6.3)."""
    generation = source.json("generation_config.json")
    given = generation.get("eos_token_id")
    if not generation:
        given = source.config.get("eos_token_id", text_config(source.config).get("eos_token_id"))
    return [value for value in (given if isinstance(given, list) else [given]) if isinstance(value, int)]
