"""The model families, by the model type in config.json."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from renderlayer.multimodal.families.base import Facts, Family

# Model type → module and class; a module is imported when its model is served.
_FAMILIES = {
    "gemma3": ("gemma3", "Gemma3"),
    "qwen2_5_vl": ("qwen_vl", "QwenVL"),
    "qwen2_vl": ("qwen_vl", "QwenVL"),
    "qwen3_vl": ("qwen_vl", "QwenVL"),
    "qwen3_vl_moe": ("qwen_vl", "QwenVL"),
}


def build(facts: Facts) -> Family | None:
    """The family of a model; None for models without media."""
    row = _FAMILIES.get(str(facts.config.get("model_type")))
    if row is None:
        return None
    module, name = row
    family: Any = getattr(import_module(f"{__name__}.{module}"), name)
    built: Family = family(facts)
    return built
