"""A small multimodal model, made here and packed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from renderlayer.bundle import Model, open_bundle
from renderlayer.bundle.pack import pack
from renderlayer.multimodal.families import BY_TYPE
from tests.models import make_model_folder

Files = dict[str, dict[str, Any]]

QWEN_TOKENS = ("<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>", "<|im_start|>", "<|im_end|>")
QWEN_FILES: Files = {
    "preprocessor_config": {
        "size": {"shortest_edge": 65536, "longest_edge": 16777216},
        "patch_size": 16,
        "temporal_patch_size": 2,
        "merge_size": 2,
    },
    "video_preprocessor_config": {
        "size": {"shortest_edge": 4096, "longest_edge": 25165824},
        "patch_size": 16,
        "temporal_patch_size": 2,
        "merge_size": 2,
    },
}


@pytest.fixture(scope="session")
def make_model(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Model]:
    """Packs a small model of a type, with its media tokens and processor files."""

    def make(model_type: str, tokens: tuple[str, ...], files: Files, **config: Any) -> Model:
        folder = tmp_path_factory.mktemp("models") / model_type
        make_model_folder(
            folder,
            config={"model_type": model_type, "architectures": [BY_TYPE[model_type]], **config},
            special_tokens=("<|endoftext|>", "<|im_end|>", *tokens),
        )
        for name, content in files.items():
            (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
        bundle = Path(f"{folder}.bundle")
        pack(folder, bundle)
        return open_bundle(bundle)

    return make


@pytest.fixture(scope="session")
def qwen(make_model: Callable[..., Model]) -> Model:
    """A model of the Qwen3-VL family."""
    return make_model("qwen3_vl", QWEN_TOKENS, QWEN_FILES)
