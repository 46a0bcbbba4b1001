"""Context length of a model, derived from its config.json as the reference derives it."""

from __future__ import annotations

from typing import Any

_KEYS = (
    "max_position_embeddings",
    "n_positions",
    "max_seq_len",
    "seq_length",
    "max_target_positions",
    "max_sequence_length",
    "max_seq_length",
    "seq_len",
)
_CLASS_DEFAULTS = {
    "gemma": 8192,
    "gemma2": 8192,
    "gemma3_text": 131072,
    "gemma3n_text": 32768,
    "gemma4_text": 131072,
    "llama": 2048,
    "mistral": 131072,
    "phi3": 4096,
    "qwen2": 32768,
    "qwen2_vl_text": 32768,
    "qwen3": 32768,
}
"""`max_position_embeddings` of model types whose published configs may leave it to the class."""
_FALLBACK = 2048


def derive_max_model_len(config: dict[str, Any]) -> int:
    """Tokens of context: the smallest of the length keys, scaled by RoPE where its kind asks for it."""
    text = text_config(config)
    length = min(
        (value for key in _KEYS if isinstance(value := text.get(key), int) and value > 0),
        default=_CLASS_DEFAULTS.get(str(text.get("model_type")), _FALLBACK),
    )
    if isinstance(text.get("model_max_length"), int):
        length = text["model_max_length"]
    ropes = _ropes(text)
    if any(rope["type"] == "longrope" for rope in ropes):
        return int(text.get("original_max_position_embeddings", length))
    if "gemma3" in str(config.get("model_type")):
        return length
    return int(_scaled(length, ropes, text))


def text_config(config: dict[str, Any]) -> dict[str, Any]:
    """The language model's part of a config; a multimodal model nests it."""
    for key in ("text_config", "llm_config", "language_config"):
        if isinstance(config.get(key), dict):
            return config[key]  # type: ignore[no-any-return]
    thinker = config.get("thinker_config")
    return text_config(thinker) if isinstance(thinker, dict) else config


def _scaled(length: int, ropes: list[dict[str, Any]], text: dict[str, Any]) -> float:
    factor: float = 1.0
    for rope in ropes:
        if rope["type"] in ("su", "longrope", "llama3"):
            continue
        factor = rope.get("factor", factor)
        if rope["type"] == "yarn":
            length = rope.get("original_max_position_embeddings") or text.get(
                "original_max_position_embeddings", length
            )
    return length * factor


def _ropes(text: dict[str, Any]) -> list[dict[str, Any]]:
    """RoPE parameters, of each kind of layer; `type` is always there."""
    given = text.get("rope_parameters") or text.get("rope_scaling")
    if not isinstance(given, dict):
        return []
    rows = list(given.values()) if given and all(isinstance(row, dict) for row in given.values()) else [given]
    return [{**row, "type": str(row.get("rope_type") or row.get("type") or "default")} for row in rows]
