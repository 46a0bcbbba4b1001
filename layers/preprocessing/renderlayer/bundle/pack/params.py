"""The configuration of a folder in Mistral's own format, `params.json`, by the names of config.json (wire.md 3.7)."""

from __future__ import annotations

from typing import Any

_LENGTH = 128_000
"""Tokens of context where params.json says nothing."""


def config_of(params: dict[str, Any]) -> dict[str, Any]:
    """What the reference reads from `params.json`, as far as rendering needs it; empty for an empty one."""
    if not params:
        return {}
    length = params.get("max_position_embeddings") or _LENGTH
    text: dict[str, Any] = {
        "max_position_embeddings": length,
        "max_seq_len": params.get("max_seq_len") or length,
        "vocab_size": params.get("vocab_size"),
        **_rope(params.get("yarn")),
    }
    media = params.get("multimodal") or {}
    if media.get("vision_encoder_args") or params.get("vision_encoder"):
        return {
            "model_type": "pixtral",
            "architectures": ["PixtralForConditionalGeneration"],
            "text_config": text,
            "vision_config": media or params["vision_encoder"],
        }
    if (media.get("whisper_model_args") or {}).get("encoder_args"):
        names = {"model_type": "voxtral", "architectures": ["VoxtralForConditionalGeneration"]}
        return {**names, "text_config": text}
    return {**text, "model_type": "mistral", "architectures": [_architecture(params.get("moe"))]}


def _architecture(experts: dict[str, Any] | None) -> str:
    if not experts:
        return "MistralForCausalLM"
    return "MistralLarge3ForCausalLM" if experts.get("num_shared_experts") else "MixtralForCausalLM"


def _rope(yarn: dict[str, Any] | None) -> dict[str, Any]:
    if not yarn:
        return {}
    kept = {key: yarn[key] for key in ("factor", "original_max_position_embeddings") if key in yarn}
    return {"rope_parameters": {"rope_type": "yarn", **kept}}
