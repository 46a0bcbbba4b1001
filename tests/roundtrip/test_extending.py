"""The worked example of docs/extending.md, built as the page says."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from renderlayer.bundle.pack import families
from renderlayer.parsers import ParserNames, registry
from renderlayer.parsers.tool_calls.formats import TOOLS
from renderlayer.roundtrip import examine
from renderlayer.roundtrip.reading import cuts
from renderlayer.settings import Settings
from tests.models import CHATML, make_model_folder, open_server

PAGE = Path(__file__).resolve().parents[2] / "docs" / "extending.md"
TEMPLATE = CHATML.replace("<tool_call>\n", "{{ '<TOOLCALL>[' if loop.first else ', ' }}").replace(
    "\n</tool_call>", "{{ ']</TOOLCALL>' if loop.last }}"
)


def test_the_example_reads_every_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, row, family = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    module = ModuleType("offered_calls")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(file, "offered_calls.py", "exec"), vars(module))
    for name, form in eval(f"{{{row}}}", vars(module)).items():
        monkeypatch.setitem(TOOLS, name, form)
        monkeypatch.setattr(registry, "TOOL_PARSERS", (*registry.TOOL_PARSERS, name))
    monkeypatch.setattr(families, "FAMILIES", (*eval(f"({family})", vars(families)), *families.FAMILIES))

    server = open_server(make_model_folder(tmp_path / "model", template=TEMPLATE), Settings())
    assert server.model.facts.tool_parser == "nemotron_json"
    report = examine(server, ParserNames("nemotron_json", None), cuts)

    assert report["calls"]["back"] == report["calls"]["made"] > 50
    assert report["content"]["back"] == report["content"]["made"] > 5
    assert report["streams"]["unlike"] == []
    assert {row["by"] for row in report["losses"]} == {"template"}
