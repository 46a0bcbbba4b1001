"""Random weights for model folders of the tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel
from transformers.utils import logging

from infra.generate.model.loading import load
from infra.generate.options import Options

logging.disable_progress_bar()

TINY: dict[str, Any] = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "tie_word_embeddings": False,
    # Large, so that the next token depends on all before it and no two are equally likely.
    "initializer_range": 0.5,
}


def give_weights(folder: Path) -> None:
    """Write random weights for the configuration in `folder`, the same every time."""
    torch.manual_seed(7)
    model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(folder))
    kept = (folder / "generation_config.json").read_text()
    model.save_pretrained(folder)
    (folder / "generation_config.json").write_text(kept)


def load_model(folder: Path) -> PreTrainedModel:
    return load(str(folder), "", Options())
