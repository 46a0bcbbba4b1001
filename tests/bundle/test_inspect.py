"""`renderlayer pack` and `renderlayer inspect`, as a person meets them."""

from __future__ import annotations

from pathlib import Path

import pytest

from renderlayer.cli import main
from tests.bundle.conftest import MakeFolder


def test_pack_and_inspect_show_the_same(
    make_folder: MakeFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"chat_template.json": {"chat_template": "{{ messages }}"}, "preprocessor_config.json": {"patch_size": 14}}
    assert main(["pack", str(make_folder(kind="nfc_byte_level", files=files)), "-o", str(tmp_path / "out")]) == 0
    packed = capsys.readouterr().out
    assert main(["inspect", str(tmp_path / "out")]) == 0
    shown = capsys.readouterr().out
    assert shown == packed
    for words in (
        "llama (LlamaForCausalLM)",
        "512 tokens",
        "equals tokenizers on",
        "to tokenizers, for texts with any of 188 characters",
        "byte_level",
        "minijinja, content as string",
        "processor (without tools)",
        "bos_token",
        "tokenizer.kitoken",
        "total",
        "preprocessor_config",
    ):
        assert words in shown
    assert str(tmp_path) not in shown


def test_it_says_why_an_engine_is_not_used(
    make_folder: MakeFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    template = "{% for m in none %}{% endfor %}{{ messages }}"
    files = {"tokenizer_config.json": {"chat_template": template}}
    assert main(["pack", str(make_folder(kind="word_piece", files=files)), "-o", str(tmp_path / "out")]) == 0
    shown = capsys.readouterr().out
    assert "tokenizers  (kitoken" in shown
    assert "is not used" in shown
    assert "jinja2, content as string  (minijinja is not used: it" in shown


@pytest.mark.parametrize("arguments", [["inspect", "/nowhere"], ["pack", "/nowhere", "-o", "/tmp/never-written"]])
def test_mistakes_end_with_one_line(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("renderlayer: ")
    assert captured.err.count("\n") == 1


def test_what_is_no_bundle_is_told_without_the_systems_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "bundle.json").write_text("{")
    for name, reason in (
        ("nowhere", "there is no such folder"),
        ("empty", "it has no bundle.json; `renderlayer pack` makes one"),
        ("damaged", "its bundle.json is damaged"),
    ):
        assert main(["inspect", str(tmp_path / name)]) == 2
        assert f"{name} is no bundle: {reason}" in capsys.readouterr().err


def test_a_place_that_cannot_be_written_is_told_in_a_line(
    make_folder: MakeFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    out = tmp_path / "file" / "out"
    assert main(["pack", str(make_folder(kind="nfc_byte_level")), "-o", str(out)]) == 2
    assert f"into {out}: " in capsys.readouterr().err.splitlines()[-1]


def test_media_that_are_not_rendered(
    make_folder: MakeFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Packed with a warning, shown by name, and with --strict refused before a bundle takes its place."""
    config = {"architectures": ["OpenPanguVLForConditionalGeneration"], "model_type": "openpangu_vl"}
    folder = str(make_folder(kind="nfc_byte_level", files={"config.json": config}))
    out = tmp_path / "out"
    assert main(["pack", folder, "-o", str(out), "--strict"]) == 2
    assert (
        "image is refused: media of OpenPanguVLForConditionalGeneration are not rendered here"
        in capsys.readouterr().err
    )
    assert not out.exists()
    assert main(["pack", folder, "-o", str(out)]) == 0
    told = capsys.readouterr()
    assert told.err.count("warning: ") == 2
    refused = "refused: media of OpenPanguVLForConditionalGeneration are not rendered here"
    assert f"\nmedia\n  image  {refused}\n  video  refused" in told.out


def test_it_says_when_prompts_can_be_extended(
    model_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["pack", str(model_folder), "-o", str(tmp_path / "out")]) == 0
    shown = capsys.readouterr().out
    assert "continues: turns without reasoning, because the template drops reasoning" in shown
    assert "tool turn                 extended" in shown
