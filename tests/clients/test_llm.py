"""`llm`, the command."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.clients.conftest import KEY, MODEL
from tests.clients.examples import CITY_QUESTION, QUESTION, City

pytest.importorskip("llm")


@pytest.fixture
def home(tmp_path: Path, base_url: str) -> Path:
    model = {
        "model_id": "small",
        "model_name": MODEL,
        "api_base": base_url,
        "api_key_name": "small",
        "supports_schema": True,
    }
    (tmp_path / "extra-openai-models.yaml").write_text(json.dumps([model]))  # JSON is YAML
    (tmp_path / "keys.json").write_text(json.dumps({"small": KEY}))
    return tmp_path


def ask(home: Path, *arguments: str) -> str:
    done = subprocess.run(
        [Path(sys.executable).with_name("llm"), "prompt", "-m", "small", "-o", "temperature", "0", *arguments],
        env={"LLM_USER_PATH": str(home), "HOME": str(home), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("flags", [[], ["--no-stream"]], ids=["streamed", "whole"])
def test_a_prompt(home: Path, flags: list[str]) -> None:
    assert "Paris" in ask(home, QUESTION, *flags)


def test_a_schema(home: Path) -> None:
    answer = ask(home, CITY_QUESTION, "--no-stream", "--schema", json.dumps(City.model_json_schema()))
    assert City.model_validate_json(answer)
