"""Packing: what is written, that it is written twice alike, and what is refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from renderlayer.bundle import open_bundle, open_model
from renderlayer.bundle.cache import cache_folder
from renderlayer.bundle.pack import pack
from renderlayer.errors import ConfigurationError
from renderlayer.render.continuing.packed import add_continues
from renderlayer.roundtrip import add_round_trip
from renderlayer.settings import Settings
from tests.bundle.conftest import MakeFolder
from tests.models import make_model_folder


def tried(bundle: Path) -> None:
    """What the command tries."""
    add_round_trip(bundle)
    add_continues(bundle)


def test_a_tokenizer_is_made_of_vocabulary_and_merges(tmp_path: Path) -> None:
    """As the reference's transformers makes it."""
    transformers = pytest.importorskip("transformers")
    folder = make_model_folder(tmp_path / "model")
    parts = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))["model"]
    (folder / "tokenizer.json").unlink()
    (folder / "vocab.json").write_text(json.dumps(parts["vocab"]), encoding="utf-8")
    merges = "\n".join(" ".join(merge) for merge in parts["merges"])
    (folder / "merges.txt").write_text(f"#version: 0.2\n{merges}\n", encoding="utf-8")
    path = folder / "tokenizer_config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**config, "tokenizer_class": "GPT2Tokenizer"}), encoding="utf-8")
    pack(folder, tmp_path / "bundle")
    expected = transformers.AutoTokenizer.from_pretrained(str(folder))
    text = "Hello world, thank you.<|im_end|>\n你好"
    encoded = open_model(Settings(model=str(tmp_path / "bundle"))).tokenizer.encode(text)
    assert list(encoded) == expected.encode(text, add_special_tokens=False)


def test_two_packs_are_byte_identical(make_folder: MakeFolder, tmp_path: Path) -> None:
    source, one, two = make_folder(kind="nfc_byte_level"), tmp_path / "one", tmp_path / "two"
    pack(source, one, check=tried)
    command = [sys.executable, "-m", "renderlayer.cli", "pack", str(source), "-o", str(two)]
    subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": "7"}, check=True, capture_output=True, timeout=120)
    names = sorted(path.name for path in one.iterdir())
    assert names == sorted(path.name for path in two.iterdir())
    assert all((one / name).read_bytes() == (two / name).read_bytes() for name in names)


def test_manifest_says_what_was_chosen_and_why(make_folder: MakeFolder, tmp_path: Path) -> None:
    manifest = json.loads((pack(make_folder(kind="nfc_byte_level"), tmp_path / "out") / "bundle.json").read_text())
    assert manifest["tokenizer"]["engine"] == "kitoken"
    assert manifest["tokenizer"]["kitoken"]["texts"] > 2900
    assert manifest["tokenizer"]["kitoken"]["difference"] == ""
    assert manifest["templates"]["named"]["default"]["engine"] == "minijinja"
    assert manifest["templates"]["named"]["default"]["equal"] > 100
    assert set(manifest["source"]["files"]) == {
        "config.json",
        "generation_config.json",
        "tokenizer.json",
        "tokenizer_config.json",
    }
    assert [0x5C8, 0x5C9] in manifest["tokenizer"]["divergent_characters"]


def test_engine_that_differs_is_not_chosen(make_folder: MakeFolder, tmp_path: Path) -> None:
    out = pack(make_folder(kind="word_piece"), tmp_path / "out")
    manifest = json.loads((out / "bundle.json").read_text())
    assert manifest["tokenizer"]["engine"] == "tokenizers"
    assert manifest["tokenizer"]["kitoken"]["difference"].startswith("it ")
    assert not (out / "tokenizer.kitoken").exists()
    assert manifest["vocabulary"]["decoder"] == {"kind": "other"}


def test_facts(make_folder: MakeFolder, tmp_path: Path) -> None:
    facts = open_bundle(pack(make_folder(), tmp_path / "out")).facts
    assert (facts.name, facts.model_type, facts.max_model_len) == ("model", "llama", 512)
    assert facts.special_tokens == {"bos_token": "<s>", "eos_token": "</s>"}
    assert facts.eos_token_ids == [1, 2]
    assert facts.generation_config["temperature"] == 0.5
    assert (facts.tokenizer_engine, facts.template_engine) == ("kitoken", "minijinja")
    assert facts.content_format == "string"
    assert facts.response_template == {}
    assert not facts.harmony
    assert len(facts.fingerprint) == 64


@pytest.mark.parametrize("own_file", [False, True])
def test_the_response_template_is_packed(make_folder: MakeFolder, tmp_path: Path, own_file: bool) -> None:
    template = {"start_anchor": "é", "fields": {"tool_calls": {"open": "<z>", "close": "<a>"}, "content": {}}}
    chat = {"chat_template": "{{ messages[0].content }}"}
    files = {"response_template.json": template} if own_file else {}
    source = make_folder(
        files={**files, "tokenizer_config.json": chat if own_file else {**chat, "response_template": template}}
    )
    one, two = pack(source, tmp_path / "one"), pack(source, tmp_path / "two")

    facts = open_bundle(one).facts
    assert facts.response_template == template
    assert (facts.tool_parser, facts.reasoning_parser) == ("hf", "")
    assert (one / "bundle.json").read_bytes() == (two / "bundle.json").read_bytes()
    assert ("response_template.json" in json.loads((one / "bundle.json").read_text())["source"]["files"]) is own_file


def test_fingerprint_follows_the_content(make_folder: MakeFolder, tmp_path: Path) -> None:
    first = open_bundle(pack(make_folder("a"), tmp_path / "1")).facts.fingerprint
    changed = make_folder("b", files={"tokenizer_config.json": {"chat_template": "{{ messages[0].content }}"}})
    assert open_bundle(pack(changed, tmp_path / "2")).facts.fingerprint != first


def test_tokens_of_the_tokenizer_config_are_merged(make_folder: MakeFolder, tmp_path: Path) -> None:
    config = {
        "eos_token": "</s>",
        "added_tokens_decoder": {"600": {"content": "<extra>", "special": False}},
        "additional_special_tokens": ["<listed>"],
        "extra_special_tokens": {"image_token": "<image>"},
    }
    model = open_bundle(pack(make_folder(files={"tokenizer_config.json": config}), tmp_path / "out"))
    ids = model.tokenizer.encode("a<extra><listed><image>")[1:]
    assert [model.vocabulary.piece(token_id) for token_id in ids] == ["<extra>", "<listed>", "<image>"]
    assert [model.vocabulary.is_special(token_id) for token_id in ids] == [False, True, True]
    assert model.facts.special_tokens["image_token"] == "<image>"


def test_harmony_needs_no_template(make_folder: MakeFolder, tmp_path: Path) -> None:
    files = {
        "config.json": {"model_type": "gpt_oss", "architectures": ["GptOssForCausalLM"]},
        "tokenizer_config.json": {},
    }
    facts = open_bundle(pack(make_folder(files=files), tmp_path / "out")).facts
    assert facts.harmony
    assert (facts.tool_parser, facts.reasoning_parser, facts.template_engine) == ("openai", "openai_gptoss", "")


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"config.json": {"architectures": ["InklingForCausalLM"]}}, "inkling"),
        ({"config.json": {"architectures": ["KimiK3ForConditionalGeneration"]}}, "kimi_k3"),
        ({"config.json": "{"}, "not JSON"),
        ({"config.json": "[]"}, "not a JSON object"),
        ({"config.json": None}, "config.json"),
    ],
)
def test_what_cannot_be_packed_says_why(
    make_folder: MakeFolder, tmp_path: Path, files: dict[str, Any], words: str
) -> None:
    with pytest.raises(ConfigurationError, match=words):
        pack(make_folder(files=files), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_model_without_a_tokenizer_file_is_refused(make_folder: MakeFolder, tmp_path: Path) -> None:
    folder = make_folder()
    (folder / "tokenizer.json").unlink()
    with pytest.raises(ConfigurationError, match=r"no tokenizer\.json"):
        pack(folder, tmp_path / "out")


@pytest.mark.parametrize("model", ["./nowhere", "/nowhere/at/all", "no-slash"])
def test_what_is_no_model_is_refused(model: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="neither a folder nor a Hub id"):
        pack(model, tmp_path / "out")


def test_only_a_bundle_is_replaced(make_folder: MakeFolder, tmp_path: Path) -> None:
    source, out = make_folder(), tmp_path / "out"
    out.mkdir()
    (out / "precious.txt").write_text("keep me")
    with pytest.raises(ConfigurationError, match="is no bundle"):
        pack(source, out)
    assert (out / "precious.txt").read_text() == "keep me"
    (out / "precious.txt").unlink()
    pack(source, out)
    assert pack(source, out) == out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "out"]


def test_opening_what_is_no_bundle(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="renderlayer pack"):
        open_bundle(tmp_path)
    (tmp_path / "bundle.json").write_text("{")
    with pytest.raises(ConfigurationError, match="damaged"):
        open_bundle(tmp_path)
    (tmp_path / "bundle.json").write_text('{"format": 0}')
    with pytest.raises(ConfigurationError, match="another version"):
        open_bundle(tmp_path)


def test_a_folder_is_packed_into_the_cache_once(
    make_folder: MakeFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = make_folder()
    command = [
        sys.executable,
        "-c",
        "import sys\n"
        "from renderlayer.bundle import open_model\n"
        "from renderlayer.settings import Settings\n"
        "print(open_model(Settings(model=sys.argv[1])).tokenizer.encode('Hello'))",
        str(folder),
    ]
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    answers = {run.communicate(timeout=120)[0] for run in runs}
    assert [run.returncode for run in runs] == [0, 0, 0]
    assert len(answers) == 1
    assert [path.suffix for path in sorted(cache_folder().iterdir())] == ["", ".lock"]
    before = {path: path.stat().st_mtime_ns for path in cache_folder().rglob("*") if path.suffix != ".lock"}
    open_model(Settings(model=str(folder)))
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_no_model_is_a_configuration_error() -> None:
    with pytest.raises(ConfigurationError, match="RENDERLAYER_MODEL"):
        open_model(Settings())
