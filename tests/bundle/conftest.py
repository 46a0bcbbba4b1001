"""Fixtures of the bundle's tests."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from renderlayer.bundle import Model, open_bundle
from renderlayer.bundle.pack import pack_source
from renderlayer.bundle.pack.source import ModelSource
from tests.bundle.tokenizers_made import KINDS

MakeFolder = Callable[..., Path]


@pytest.fixture
def make_folder(tmp_path: Path) -> MakeFolder:
    """Makes a model folder: `make_folder("name", kind="byte_level", files={…})`, files over the usual ones."""

    def make(name: str = "model", kind: str = "byte_level", files: dict[str, Any] | None = None) -> Path:
        return write_folder(tmp_path / name, kind, files)

    return make


def write_folder(folder: Path, kind: str, files: dict[str, Any] | None = None) -> Path:
    """A model folder with a made tokenizer; None for a file leaves it out."""
    folder.mkdir(parents=True)
    KINDS[kind]().save(str(folder / "tokenizer.json"))
    content: dict[str, Any] = {
        "config.json": {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "max_position_embeddings": 512},
        "generation_config.json": {"eos_token_id": [1, 2], "temperature": 0.5},
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "bos_token": "<s>",
            "eos_token": {"content": "</s>"},
            "chat_template": "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}",
        },
    }
    for name, value in (content | (files or {})).items():
        if value is None:
            continue
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return folder


@pytest.fixture(scope="session", params=sorted(KINDS))
def packed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Model:
    """A packed model of each kind of tokenizer."""
    folder = tmp_path_factory.mktemp("kinds") / request.param
    source = write_folder(folder, request.param)
    pack_source(ModelSource(source, request.param), folder / "bundle", fastokens=False)
    return open_bundle(folder / "bundle")
