"""A version is told once and the same everywhere."""

from __future__ import annotations

import re

from renderlayer import __version__
from tests.runtime import ROOT


def test_the_newest_entry_of_the_changelog_is_this_version() -> None:
    headings = re.findall(r"^## (\S+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert headings[0] == __version__


def test_examples_name_this_version() -> None:
    for name in ("infra/generate/README.md", "infra/generate/kubernetes.yaml"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert set(re.findall(r"(?:generate|REPOSITORY):(\d+\.\d+\.\d+)", text)) == {__version__}, name
