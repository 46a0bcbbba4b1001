"""Fixtures that all tests share."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from renderlayer.bundle import Model
from renderlayer.served_model import ServedModel
from renderlayer.settings import Settings
from tests.models import make_model_folder, open_server

# The same examples in every run, however slow the machine; `pytest --hypothesis-profile=random` looks for new ones.
settings.register_profile("fixed", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("random", settings.get_profile("fixed"), derandomize=False, print_blob=True)
settings.load_profile("fixed")

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """Real tokenizers, templates and recordings of the reference, where they lie beside the project."""
    if not SHARED.is_dir():
        pytest.skip("needs ../shared (real tokenizers and recordings), which is not beside the project")
    return SHARED


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small model in Hub layout: byte-level BPE, ChatML template, markers of several parsers as special tokens."""
    return make_model_folder(tmp_path_factory.mktemp("models") / "small")


@pytest.fixture(scope="session")
def server(model_folder: Path) -> ServedModel:
    """The small model, served as `small` with no parser."""
    return open_server(model_folder, Settings(served_model_name=["small"]))


@pytest.fixture(scope="session")
def model(server: ServedModel) -> Model:
    return server.model
