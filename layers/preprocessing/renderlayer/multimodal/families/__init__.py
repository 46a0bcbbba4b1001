"""The model families, by the model type in config.json."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from renderlayer.multimodal.families.base import Facts, Family, image_token

# Model type → module and class; a module is imported when its model is served.
_FAMILIES = {
    "deepseek_vl_v2": ("deepseek_vl2", "DeepseekVL2"),
    "gemma3": ("gemma3", "Gemma3"),
    "gemma4": ("gemma4", "Gemma4"),
    "glm46v": ("glm4v", "Glm4v"),
    "glm4v": ("glm4v", "Glm4v"),
    "glm4v_moe": ("glm4v", "Glm4v"),
    "idefics3": ("idefics3", "Idefics3"),
    "internvl": ("internvl", "InternVL"),
    "kimi_vl": ("kimi_vl", "KimiVL"),
    "llama4": ("llama4", "Llama4"),
    "llava": ("llava", "Llava"),
    "llava_next": ("llava_next", "LlavaNext"),
    "llava_onevision": ("llava_onevision", "LlavaOnevision"),
    "mistral3": ("mistral3", "Mistral3"),
    "phi4_multimodal": ("phi4_multimodal", "Phi4Multimodal"),
    "qwen2_5_vl": ("qwen_video", "Qwen25VL"),
    "qwen2_audio": ("qwen2_audio", "Qwen2Audio"),
    "qwen2_vl": ("qwen_video", "Qwen2VL"),
    "qwen3_5": ("qwen_video", "Qwen3VL"),
    "qwen3_5_moe": ("qwen_video", "Qwen3VL"),
    "qwen3_vl": ("qwen_video", "Qwen3VL"),
    "qwen3_vl_moe": ("qwen_video", "Qwen3VL"),
    "smolvlm": ("idefics3", "Idefics3"),
    "ultravox": ("ultravox", "Ultravox"),
}
_LLAVA_PIXTRAL = ("mistral3", "LlavaPixtral")
_GENERAL = ("general", "General")


def build(facts: Facts) -> Family | None:
    """The family of a model; None for models without media."""
    row = _row(facts)
    if row is None:
        return None
    module, name = row
    family: Any = getattr(import_module(f"{__name__}.{module}"), name)
    built: Family = family(facts)
    return built


def _row(facts: Facts) -> tuple[str, str] | None:
    model_type = str(facts.config.get("model_type"))
    if model_type == "llava" and facts.config.get("vision_config", {}).get("model_type") == "pixtral":
        return _LLAVA_PIXTRAL
    if model_type in _FAMILIES:
        return _FAMILIES[model_type]
    return _GENERAL if image_token(facts) is not None else None
