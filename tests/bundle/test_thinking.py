"""Finding the variables by which a template switches thinking."""

from __future__ import annotations

from pathlib import Path

import pytest

from renderlayer.bundle import open_bundle
from renderlayer.bundle.inspect import summary
from renderlayer.bundle.pack import pack
from renderlayer.bundle.pack.thinking import thinking_switches
from renderlayer.settings import Settings
from tests.bundle.conftest import MakeFolder

ASKED = "{{ messages[0].content }}"
TURNS = "{% for part in messages[0].content %}{{ part.text }}{% endfor %}"


@pytest.mark.parametrize(
    ("template", "found"),
    [
        (ASKED, {}),
        (
            ASKED + "{% if enable_thinking is defined and enable_thinking is false %}</think>{% endif %}",
            {"enable_thinking": True},
        ),
        (ASKED + "{% if enable_thinking %}<think>{% endif %}", {"enable_thinking": False}),
        (TURNS + "{% if thinking is not defined %}?{% elif thinking %}<think>{% endif %}", {"thinking": None}),
        (
            ASKED + "{% if thinking or enable_thinking %}<think>{% endif %}",
            {"enable_thinking": False, "thinking": False},
        ),
        (ASKED + "{% if thinking_budget %}{{ thinking_budget }}{% endif %}", {}),
        (ASKED + "{% if messages[0].thinking %}x{% endif %}{{ thinking | length }}", {}),
        (ASKED + "{% for message in messages if message.role == 'assistant' and enable_thinking %}x{% endfor %}", {}),
        ("{% if thinking %}", {}),
        ("", {}),
    ],
)
def test_what_a_template_reads(template: str, found: dict[str, bool | None]) -> None:
    assert thinking_switches(template, {}) == found


def test_a_bundle_holds_and_shows_them(make_folder: MakeFolder, tmp_path: Path) -> None:
    files = {"tokenizer_config.json": {"chat_template": ASKED + "{% if thinking %}<think>{% endif %}"}}
    bundle = pack(make_folder(files=files), tmp_path / "out")

    assert open_bundle(bundle).facts.thinking_switches == {"thinking": False}
    assert "thinking (not given: off)" in summary(bundle)
    chosen = open_bundle(bundle, Settings(chat_template=ASKED + "{{ enable_thinking }}"))
    assert chosen.facts.thinking_switches == {}
