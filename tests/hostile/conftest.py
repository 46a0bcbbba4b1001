from __future__ import annotations

import json
from pathlib import Path

import pytest

from renderlayer.bundle.pack import pack
from renderlayer.multimodal.families import BY_TYPE
from tests.models import make_model_folder
from tests.multimodal.conftest import QWEN_FILES, QWEN_TOKENS


@pytest.fixture(scope="session")
def seeing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle of a small model of the Qwen3-VL family."""
    folder = tmp_path_factory.mktemp("models") / "seeing"
    config = {"model_type": "qwen3_vl", "architectures": [BY_TYPE["qwen3_vl"]]}
    make_model_folder(folder, config=config, special_tokens=("<|endoftext|>", *QWEN_TOKENS))
    for name, content in QWEN_FILES.items():
        (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    pack(folder, folder.with_suffix(".bundle"))
    return folder.with_suffix(".bundle")
