"""Every template that can be had: random conversations with tools, reasoning, other alphabets and empty texts."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import pytest

from tests.render.continuing.laws import check, conversation
from tests.render.continuing.museum import make_museum, with_template
from tests.render.continuing.table import PAGE, table, verdicts

TAKE_NO_CONVERSATION = {  # they want variables of their own, or descriptions that no tool has to have
    "CohereForAI-c4ai-command-r-plus-tool_use",
    "fireworks-ai-llama-3-firefunction-v2",
}
TEMPLATES = sorted((Path(__file__).resolve().parents[4] / "shared" / "templates").glob("*.jinja"))
CONVERSATIONS = 24


@pytest.fixture(scope="module")
def museum(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_museum(shared / "templates", tmp_path_factory.mktemp("museum"))


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.stem)
def test_extended_prompts_go_on_as_full_ones(museum: Path, template: Path) -> None:
    server = with_template(museum, template)
    found: Counter[str] = Counter()
    random = Random(template.stem)
    for number in range(CONVERSATIONS):
        tools, thinks = number % 2 == 1, number % 4 > 1
        found += check(server, conversation(random, tools, thinks), tools)
    assert template.stem in TAKE_NO_CONVERSATION or found["extended"]


def test_the_documents_table_is_what_packing_finds_out(museum: Path, shared: Path) -> None:
    found = dict(verdicts(shared / "templates", museum))
    assert table(iter(found.items())).rstrip("\n") in PAGE.read_text(encoding="utf-8")
    cycles = [row["cases"]["tool turn"] for row in found.values() if row["cases"]["tool turn"] is not None]
    assert (cycles.count("extended"), len(cycles)) == (108, 109)
