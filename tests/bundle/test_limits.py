"""Context length from config.json (as the reference derives it)."""

from __future__ import annotations

from typing import Any

import pytest

from renderlayer.bundle.pack.limits import derive_max_model_len


@pytest.mark.parametrize(
    ("config", "length"),
    [
        ({"max_position_embeddings": 40960}, 40960),
        ({"n_positions": 1024, "max_seq_len": 2048}, 1024),
        ({"model_type": "llama"}, 2048),
        ({"model_type": "unheard_of"}, 2048),
        ({"model_type": "qwen3_vl", "text_config": {"max_position_embeddings": 262144}}, 262144),
        ({"thinker_config": {"text_config": {"max_position_embeddings": 32768}}}, 32768),
        ({"model_type": "gemma3", "text_config": {"model_type": "gemma3_text"}}, 131072),
        (
            {
                "model_type": "gemma3",
                "text_config": {
                    "max_position_embeddings": 131072,
                    "rope_scaling": {"rope_type": "linear", "factor": 8},
                },
            },
            131072,
        ),
        (
            {"max_position_embeddings": 131072, "rope_parameters": {"rope_type": "llama3", "factor": 8.0}},
            131072,
        ),
        (
            {
                "max_position_embeddings": 131072,
                "rope_parameters": {"rope_type": "yarn", "factor": 32.0, "original_max_position_embeddings": 4096},
            },
            131072,
        ),
        ({"max_position_embeddings": 32768, "rope_scaling": {"type": "yarn", "factor": 4.0}}, 131072),
        ({"max_position_embeddings": 4096, "rope_scaling": {"type": "linear", "factor": 2.0}}, 8192),
        ({"max_position_embeddings": 4096, "rope_scaling": {"type": "dynamic", "factor": 2.0}}, 8192),
        ({"max_position_embeddings": 4096, "rope_scaling": None}, 4096),
        (
            {
                "max_position_embeddings": 131072,
                "original_max_position_embeddings": 4096,
                "rope_scaling": {"type": "longrope", "short_factor": [1.0]},
            },
            4096,
        ),
        (
            {
                "max_position_embeddings": 32768,
                "rope_parameters": {
                    "full_attention": {"rope_type": "linear", "factor": 4.0},
                    "sliding_attention": {"rope_type": "default"},
                },
            },
            131072,
        ),
        ({"max_position_embeddings": 8192, "model_max_length": 131072}, 131072),
    ],
)
def test_max_model_len(config: dict[str, Any], length: int) -> None:
    assert derive_max_model_len(config) == length
