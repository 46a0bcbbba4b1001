"""Packing a Hub id: only the small files are fetched, and the bundle names the commit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bundle.conftest import MakeFolder
from tests.bundle.hub import COMMIT, serve

pytest.importorskip("huggingface_hub", reason="needs huggingface-hub")
MODEL = "maker/small-model"


def pack(model: str, out: Path, url: str, home: Path) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own: the address of the Hub is read when its client is imported."""
    environment = {**os.environ, "HF_ENDPOINT": url, "HF_HOME": str(home), "HF_HUB_DISABLE_TELEMETRY": "1"}
    command = [sys.executable, "-m", "renderlayer.cli", "pack", model, "-o", str(out), "--revision", "main"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)


def test_small_files_are_fetched_and_the_commit_is_recorded(make_folder: MakeFolder, tmp_path: Path) -> None:
    folder = make_folder(files={"chat_template.jinja": "{{ messages[0].content }}", "README.md": "readme"})
    (folder / "model.safetensors").write_bytes(b"\0" * 1000)
    (folder / "pytorch_model.bin").write_bytes(b"\0" * 1000)
    with serve(folder, MODEL) as hub:
        run = pack(MODEL, tmp_path / "out", hub.url, tmp_path / "home")
    assert run.returncode == 0, run.stderr
    fetched = {path.rpartition("/")[2] for path in hub.paths if "/resolve/" in path}
    assert fetched == {
        "chat_template.jinja",
        "config.json",
        "generation_config.json",
        "tokenizer.json",
        "tokenizer_config.json",
    }
    manifest = json.loads((tmp_path / "out" / "bundle.json").read_text())
    assert (manifest["source"]["name"], manifest["source"]["revision"]) == (MODEL, COMMIT)
    assert manifest["facts"]["name"] == MODEL
    assert f"{MODEL} at {COMMIT}" in run.stdout


def test_a_model_that_the_hub_does_not_have(make_folder: MakeFolder, tmp_path: Path) -> None:
    with serve(make_folder(), MODEL) as hub:
        run = pack("maker/unheard-of", tmp_path / "out", hub.url, tmp_path / "home")
    assert run.returncode == 2
    assert "cannot fetch 'maker/unheard-of' from the Hub" in run.stderr
    assert "Traceback" not in run.stderr
