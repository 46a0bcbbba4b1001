"""The worked examples of docs/extending.md, built as the page says."""

from __future__ import annotations

import base64
import json
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from renderlayer import LoadedModel
from renderlayer.bundle.pack import families
from renderlayer.http.app import create_app
from renderlayer.http.aws import lambda_handler
from renderlayer.http.aws.lambda_handler import LambdaHandler
from renderlayer.multimodal.families import FAMILIES
from renderlayer.parsers import ParserNames, registry
from renderlayer.parsers.tool_calls.formats import TOOLS
from renderlayer.roundtrip import examine
from renderlayer.roundtrip.reading import cuts
from renderlayer.served_model import ServedModel
from renderlayer.settings import Settings
from tests.events.context import FakeContext
from tests.hostile.images import png
from tests.models import CHATML, SPECIAL_TOKENS, make_model_folder, open_server

PAGE = Path(__file__).resolve().parents[1] / "docs" / "extending.md"
TOOL_FORMAT, FAMILY, SOURCE = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
TEMPLATE = CHATML.replace("<tool_call>\n", "{{ '<TOOLCALL>[' if loop.first else ', ' }}").replace(
    "\n</tool_call>", "{{ ']</TOOLCALL>' if loop.last }}"
)


def blocks(section: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", section, re.DOTALL)


def made(name: str, source: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module of this source, importable under its name."""
    module = ModuleType(name)
    monkeypatch.setitem(sys.modules, name, module)
    exec(compile(source, f"{name}.py", "exec"), vars(module))
    return module


def test_the_tool_format_reads_every_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, row, family = blocks(TOOL_FORMAT)
    module = made("offered_calls", file, monkeypatch)
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


def test_the_family_renders_an_image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, row = blocks(FAMILY)
    made("renderlayer.multimodal.families.square_vl", file, monkeypatch)
    for architecture, place in eval(f"{{{row}}}").items():
        monkeypatch.setitem(FAMILIES, architecture, place)
    folder = make_model_folder(
        tmp_path / "model",
        special_tokens=(*SPECIAL_TOKENS, "<image>"),
        config={"architectures": ["SquareVLForConditionalGeneration"], "vision_config": {"patch_size": 16}},
    )
    processor = {"image_processor_type": "SquareVLImageProcessor", "size": {"height": 64, "width": 64}}
    (folder / "preprocessor_config.json").write_text(json.dumps(processor), encoding="utf-8")
    model = LoadedModel(open_server(folder, Settings()))
    url = "data:image/png;base64," + base64.b64encode(png(40)).decode()
    content = [{"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": "What is it?"}]

    rendered = model.render_chat({"messages": [{"role": "user", "content": content}]})

    assert rendered["features"] is not None
    (place,) = rendered["features"]["mm_placeholders"]["image"]
    assert place["length"] == 16
    start = place["offset"]
    assert model.detokenize(rendered["token_ids"][start : start + 16]) == "<image>" * 16
    assert rendered["features"]["kwargs_data"]["image"][0]


def test_the_source_of_events_is_answered(server: ServedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    file, row = blocks(SOURCE)
    module = made("step_functions", file, monkeypatch)
    monkeypatch.setattr(lambda_handler, "SOURCES", [*eval(row, vars(module)), *lambda_handler.SOURCES])
    handler = LambdaHandler(create_app(server.settings, ("render",), server=server), server.settings, "render")
    request = {"messages": [{"role": "user", "content": "Hello"}]}

    answer = handler({"path": "/v1/chat/completions/render", "input": request}, FakeContext())

    assert answer["status"] == 200
    assert answer["output"]["token_ids"] == LoadedModel(server).render_chat(request)["token_ids"]
    assert handler({"path": "/v1/chat/completions/render", "input": {}}, FakeContext())["status"] == 400
