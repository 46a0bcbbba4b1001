"""A tiny model with random weights, the engine on it, and the engine over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from infra.generate.options import Options
from renderlayer.served_model import ServedModel
from renderlayer.settings import Settings
from tests.engine.serving import Service, served
from tests.engine.tiny import TINY, give_weights, load_model
from tests.models import make_model_folder, open_server


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A two-layer Qwen3 with random weights, in Hub layout; 1,024 tokens of context."""
    folder = make_model_folder(tmp_path_factory.mktemp("engine") / "tiny", config=TINY, context=1024)
    give_weights(folder)
    return folder


@pytest.fixture(scope="session")
def tiny(tiny_folder: Path) -> ServedModel:
    """The tiny model's bundle, served as `tiny`, without a limit to logprobs."""
    return open_server(tiny_folder, Settings(served_model_name=["tiny", "alias"], max_logprobs=-1))


@pytest.fixture(scope="session")
def service(tiny: ServedModel, tiny_folder: Path) -> Iterator[Service]:
    """The tiny model over HTTP."""
    with served(tiny, load_model(tiny_folder), Options(max_num_seqs=8, enable_trace_replay=True)) as running:
        yield running
