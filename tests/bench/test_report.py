"""The report: its table and plot, what it writes, and when the check fails."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bench import report
from tests.bench.ratios import Ratio, in_turns

PAGE = "before\n<!-- ratios -->\nold\n<!-- /ratios -->\nafter\n"
GOOD, BAD = Ratio("render", "hello world", (0.9, 1.0, 1.1)), Ratio("render", "hello world", (1.1, 1.3, 1.5))


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in (("PAGE", "page.md"), ("PLOT", "plot.svg"), ("COMMITTED", "ratios.json")):
        monkeypatch.setattr(report, name, tmp_path / value)
    (tmp_path / "page.md").write_text(PAGE)
    return tmp_path


def measuring(monkeypatch: pytest.MonkeyPatch, *ratios: Ratio) -> None:
    monkeypatch.setattr(report, "measured", lambda where: iter(ratios))


def test_ratios_are_of_the_same_round_and_the_first_does_not_count() -> None:
    told = {"ours": iter([100.0, 2.0, 6.0]), "peer": iter([1.0, 4.0, 3.0])}
    (ratio,) = in_turns({name: values.__next__ for name, values in told.items()}, {"ours": "peer"}, rounds=2)
    assert ratio.values == (0.5, 2.0)


def test_what_is_written(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (files / "ratios.json").write_text('{"other / peer": 3.0}')
    measuring(monkeypatch, GOOD)
    assert report.main([]) == 0
    page = (files / "page.md").read_text()
    assert "| render | hello world | 0.90 | 1.00 | 1.10 |" in page
    assert (page.startswith("before"), page.endswith("after\n"), "old" in page) == (True, True, False)
    assert json.loads((files / "ratios.json").read_text()) == {"other / peer": 3.0, "render / hello world": 1.0}
    assert ET.parse(files / "plot.svg").getroot().tag.endswith("svg")


def test_the_check_fails_where_a_ratio_is_a_fifth_worse_and_writes_nothing(
    files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (files / "ratios.json").write_text('{"render / hello world": 1.0}')
    before = {path.name: path.read_text() for path in files.iterdir()}
    for ratio, status in ((GOOD, 0), (BAD, 1), (Ratio("new", "peer", (9.0,)), 0)):
        measuring(monkeypatch, ratio)
        assert report.main(["--check"]) == status
    assert "render / hello world: 1.30, was 1.00" in capsys.readouterr().err
    assert {path.name: path.read_text() for path in files.iterdir()} == before


def rows() -> Iterator[tuple[str, str]]:
    """(key, median) of every row of the page's table."""
    text = report.PAGE.read_text(encoding="utf-8").split("<!-- ratios -->")[1].split("<!-- /ratios -->")[0]
    for name, peer, median in re.findall(r"^\| (.+?) \| (.+?) \| [\d.]+ \| ([\d.]+) \|", text, re.MULTILINE):
        yield f"{name} / {peer}", median


def test_the_page_shows_what_is_committed() -> None:
    committed = json.loads(report.COMMITTED.read_text())
    assert {key: f"{value:.2f}" for key, value in committed.items()} == dict(rows())
    plot = report.PLOT.read_text(encoding="utf-8")
    assert all(key in plot for key in committed)
