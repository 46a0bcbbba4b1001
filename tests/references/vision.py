"""A tiny model of the Qwen3-VL family, made from nothing: bundle for render, configuration for the embedded engine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.models import make_model_folder

TOKENS = (
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|image_pad|>",
    "<|video_pad|>",
)
CONTEXT = 8192
_PROCESSOR = {
    "size": {"shortest_edge": 65536, "longest_edge": 16777216},
    "patch_size": 16,
    "temporal_patch_size": 2,
    "merge_size": 2,
    "image_mean": [0.5, 0.5, 0.5],
    "image_std": [0.5, 0.5, 0.5],
    "image_processor_type": "Qwen2VLImageProcessorFast",
    "processor_class": "Qwen3VLProcessor",
}
_TEXT = {
    "model_type": "qwen3_vl_text",
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 16,
    "max_position_embeddings": CONTEXT,
    "rope_parameters": {
        "mrope_interleaved": True,
        "mrope_section": [4, 2, 2],
        "rope_theta": 5000000,
        "rope_type": "default",
    },
}
_VISION = {
    "model_type": "qwen3_vl_vision",
    "depth": 2,
    "deepstack_visual_indexes": [0],
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_heads": 2,
    "num_position_embeddings": 2304,
    "out_hidden_size": 32,
    "patch_size": 16,
    "spatial_merge_size": 2,
    "temporal_patch_size": 2,
}


def make_vision_folder(folder: Path, context: int = CONTEXT) -> Path:
    """Write the model's files, but no weights, into `folder` and return it."""
    make_model_folder(folder, special_tokens=TOKENS, context=context)
    path = folder / "config.json"
    config: dict[str, Any] = json.loads(path.read_text())
    ids = {
        entry["content"]: entry["id"] for entry in json.loads((folder / "tokenizer.json").read_text())["added_tokens"]
    }
    config |= {
        "architectures": ["Qwen3VLForConditionalGeneration"],
        "model_type": "qwen3_vl",
        "image_token_id": ids["<|image_pad|>"],
        "video_token_id": ids["<|video_pad|>"],
        "vision_start_token_id": ids["<|vision_start|>"],
        "vision_end_token_id": ids["<|vision_end|>"],
        "tie_word_embeddings": True,
        "text_config": {
            **_TEXT,
            "max_position_embeddings": context,
            "vocab_size": config.pop("vocab_size"),
            "eos_token_id": ids["<|im_end|>"],
        },
        "vision_config": _VISION,
    }
    path.write_text(json.dumps(config))
    for name in ("preprocessor_config", "video_preprocessor_config"):
        (folder / f"{name}.json").write_text(json.dumps(_PROCESSOR))
    return folder
