"""The round trip on small models: what comes back, what does not, and whose fault it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from renderlayer.bundle import open_bundle
from renderlayer.bundle.pack import pack
from renderlayer.cli import main
from renderlayer.parsers import ParserNames
from renderlayer.roundtrip import examine, lines
from renderlayer.roundtrip.reading import cuts
from renderlayer.served_model import ServedModel
from renderlayer.settings import Settings
from tests.models import CHATML, make_model_folder, open_server
from tests.render.renderers.mistral_models import make_tekken_folder

HERMES = ParserNames("hermes", None)
Open = Callable[[str], ServedModel]

THINKING = """\
{%- for message in messages %}<|im_start|>{{ message.role }}
{% if message.reasoning_content and keep %}<think>
{{ message.reasoning_content }}
</think>

{% endif %}{{ message.content }}
{%- for call in message.tool_calls or [] %}<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>{% endfor %}<|im_end|>
{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
<think>
{% endif %}"""


@pytest.fixture
def opened(tmp_path: Path) -> Open:
    def opened(template: str) -> ServedModel:
        return open_server(make_model_folder(tmp_path / "model", template=template), Settings())

    return opened


def lost(report: dict[str, Any], part: str, by: str) -> list[str]:
    return [row["case"] for row in report["losses"] if row["part"] == part and row["by"] == by]


def test_everything_comes_back_in_every_chunking(server: ServedModel) -> None:
    report = examine(server, HERMES, cuts)

    assert report["calls"]["made"] > 50
    assert report["calls"]["back"] == report["calls"]["made"]
    assert report["content"]["back"] == report["content"]["made"] > 5
    assert report["streams"]["unlike"] == []
    assert report["streams"]["read"] > 1000
    assert report["refused"] == []
    assert report["better"] is None


def test_a_template_that_writes_no_reasoning_loses_it(server: ServedModel) -> None:
    report = examine(server, HERMES)

    assert report["reasoning"]["back"] == 0
    assert len(lost(report, "reasoning", "template")) == report["reasoning"]["made"]
    assert lost(report, "reasoning", "parser") == []


def test_reports_are_reproducible(server: ServedModel) -> None:
    assert examine(server, HERMES) == examine(server, HERMES)


def test_a_better_parser_is_named(server: ServedModel) -> None:
    for names in (ParserNames("deepseek_v3", None), ParserNames(None, None)):
        report = examine(server, names)

        assert report["calls"]["back"] == 0
        assert report["better"] == {
            "tool_parser": "hermes",
            "reasoning_parser": "",
            "calls": report["calls"]["made"],
        }
        assert "hermes reads more" in "\n".join(lines(report))


def test_a_template_without_calls_loses_them(opened: Open) -> None:
    report = examine(opened(CHATML.replace("message.tool_calls or []", "[]")), HERMES)

    assert report["calls"]["back"] == 0
    assert lost(report, "calls", "parser") == []
    assert report["better"] is None


def test_what_the_template_writes_alike_is_its_loss(opened: Open) -> None:
    template = CHATML.replace(
        "{{ call.function.arguments | tojson }}",
        '{ {%- for key, value in call.function.arguments.items() %}"{{ key }}": '
        "{{ (value | int if value is float else value) | tojson }}{{ ', ' if not loop.last }}{% endfor %} }",
    )
    report = examine(opened(template), HERMES)

    assert lost(report, "calls", "template") == [
        *("a fraction", "a small fraction", "a whole number as a fraction", "many arguments"),
    ]
    assert lost(report, "calls", "parser") == []
    row = next(row for row in report["losses"] if row["case"] == "a fraction")
    assert row["reason"] == '{"ratio": 2} is written alike'


def test_refused_turns_are_told(opened: Open) -> None:
    one = "{%- for message in messages %}{% if message.tool_calls and message.tool_calls | length > 1 %}"
    template = f"{one}{{{{ raise_exception('one call only') }}}}{{% endif %}}{{% endfor %}}{CHATML}"
    report = examine(opened(template), HERMES)

    assert {"case": "two calls", "reason": "one call only"} in report["refused"]
    assert "a call" not in [row["case"] for row in report["refused"]]
    assert report["calls"]["back"] == report["calls"]["made"] > 40


@pytest.mark.parametrize("keep", [True, False])
def test_histories_that_leave_thoughts_out_are_completed(opened: Open, keep: bool) -> None:
    report = examine(opened(THINKING.replace("and keep", "" if keep else "and false")), ParserNames("hermes", "qwen3"))

    assert report["content"]["back"] == report["content"]["made"]
    assert "a call" not in [row["case"] for row in report["losses"]]
    assert ("reasoning and content" in lost(report, "reasoning", "template")) is not keep


def test_packing_makes_it_and_inspect_shows_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = make_model_folder(tmp_path / "model")

    assert main(["pack", str(folder), "-o", str(tmp_path / "bundle")]) == 0
    shown = capsys.readouterr().out

    assert "round trip (hermes" in shown
    assert "come back" in shown
    assert main(["inspect", str(tmp_path / "bundle")]) == 0
    assert capsys.readouterr().out == shown


def test_a_template_that_refuses_tools_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    template = f"{{% if tools %}}{{{{ raise_exception('no tools here') }}}}{{% endif %}}{CHATML}"
    folder = make_model_folder(tmp_path / "model", template=template)

    assert main(["pack", str(folder), "-o", str(tmp_path / "bundle")]) == 0
    assert "not made: the chat template refuses tools: no tools here" in capsys.readouterr().out


def test_harmony_prompts_are_written_token_by_token(shared: Path) -> None:
    report = examine(ServedModel.open(Settings(model=str(shared / "models" / "tiny-gptoss"))))

    assert report["tool_parser"] == "openai"
    assert report["calls"]["back"] == report["calls"]["made"] > 50
    assert report["content"]["back"] == report["content"]["made"]
    assert report["streams"]["unlike"] == []
    assert lost(report, "reasoning", "parser") == []


@pytest.mark.parametrize(
    ("version", "calls", "content", "reasoning", "refused"),
    [("v3", 57, 8, 0, 8), ("v7", 60, 10, 0, 6), ("v11", 60, 10, 0, 6), ("v13", 65, 13, 6, 0), ("v15", 65, 13, 6, 0)],
)
def test_what_mistral_common_writes_comes_back(
    version: str, calls: int, content: int, reasoning: int, refused: int, tmp_path: Path
) -> None:
    pytest.importorskip("mistral_common")
    folder = make_tekken_folder(tmp_path / "model", version)
    bundle = pack(folder, tmp_path / "bundle")

    report = examine(ServedModel(open_bundle(bundle), Settings(model=str(bundle))))

    assert [report[part]["made"] for part in ("calls", "content", "reasoning")] == [calls, content, reasoning]
    assert report["losses"] == [] and report["streams"]["unlike"] == []
    assert len(report["refused"]) == refused
