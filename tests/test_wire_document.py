"""`docs/wire.md`: every section that the code cites is there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCUMENT = (ROOT / "docs" / "wire.md").read_text(encoding="utf-8")
FOLDERS = ("layers", "functions", "infra", "tests", "docs")
ONE = r"[0-9]+(?:\.[0-9]+)*[a-z]?"
CITED = re.compile(rf"wire\.md\s+((?:sections?\s+)?{ONE}(?:(?:,\s*|\s+and\s+|-){ONE})*)")


def sections() -> set[str]:
    """Numbers of headings, and of the points of section 9."""
    headings = re.findall(rf"^#+ ({ONE})\.?\s", DOCUMENT, re.MULTILINE)
    limits = DOCUMENT.partition("\n## 9.")[2].partition("\n## ")[0]
    return {*headings, *(f"9.{number}" for number in re.findall(r"^([0-9]+)\. ", limits, re.MULTILINE))}


def cited() -> Iterator[tuple[Path, str]]:
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".py", ".md", ".txt", ".yaml"):
                for match in CITED.finditer(path.read_text(encoding="utf-8")):
                    yield from ((path, number) for number in re.findall(ONE, match[1]))


def test_every_section_that_is_cited_is_there() -> None:
    known, found = sections(), list(cited())

    assert len(found) > 150
    assert [f"{path.relative_to(ROOT)}: {number}" for path, number in found if number not in known] == []


@pytest.mark.parametrize("number", ["2.4", "9.1", "10.1", "11.2"])
def test_sections_are_found(number: str) -> None:
    assert number in sections()


def test_no_section_has_two_places() -> None:
    headings = re.findall(rf"^#+ ({ONE})\.?\s", DOCUMENT, re.MULTILINE)
    assert len(headings) == len(set(headings))
