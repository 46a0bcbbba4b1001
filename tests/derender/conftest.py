"""Servers with parsers and with other vocabularies, and the engine's answers to them."""

from __future__ import annotations

from pathlib import Path

import pytest

from renderlayer.served_model import ServedModel
from renderlayer.settings import Settings
from tests.derender.vocabularies import make_metaspace_folder
from tests.models import open_server


@pytest.fixture(scope="session")
def parsed_server(model_folder: Path) -> ServedModel:
    """The small model with hermes tool calls and qwen3 reasoning."""
    settings = Settings(
        served_model_name=["small"],
        tool_call_parser="hermes",
        reasoning_parser="qwen3",
        enable_auto_tool_choice=True,
    )
    return open_server(model_folder, settings)


@pytest.fixture(scope="session")
def metaspace_server(tmp_path_factory: pytest.TempPathFactory) -> ServedModel:
    """A model whose vocabulary is SentencePiece-like: ▁ for spaces, <0x..> for bytes, a first space that is dropped."""
    folder = make_metaspace_folder(tmp_path_factory.mktemp("models") / "metaspace")
    return open_server(folder, Settings(served_model_name=["metaspace"]))
