"""The round trip of public chat templates: what docs/parsers.md says of each."""

from __future__ import annotations

from pathlib import Path

import pytest

from renderlayer.bundle import Model
from tests.roundtrip.families import make_model, parsers, report, row, serve, table, templates

MISREAD = {
    "axolotl-mistral_v2v3": {"a long string"},
    "axolotl-mistral_v3_tekken": {"a long string"},
    "mistralai-Mistral-Nemo-Instruct-2407": {"a long string"},
    "Apriel-1.6-15b-Thinker-fixed": {
        "reasoning before a call",
        "reasoning before two calls",
        "reasoning and content before a call",
        "reasoning that speaks of a call",
        "reasoning and content",
        "reasoning with markup",
    },
}
"""What is misread, by template: the page says why."""

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def folder(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("families")


@pytest.fixture(scope="module")
def model(folder: Path) -> Model:
    return make_model(folder)


@pytest.mark.parametrize("name", sorted(table()))
def test_what_comes_back(name: str, shared: Path, folder: Path, model: Model) -> None:
    template = shared / "templates" / f"{name}.jinja"
    found = report(serve(model, template, folder / "bundle"))

    assert row(template, found) == table()[name]
    if "skipped" not in found:
        assert found["streams"]["unlike"] == []
        assert {loss["case"] for loss in found["losses"] if loss["by"] == "parser"} <= MISREAD.get(name, set())


def test_every_template_with_a_parser_is_there(shared: Path) -> None:
    assert {path.stem for path in templates() if parsers(path).tool} == set(table())
