"""Builds of layers fail where a deployed function would be slow or refused."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
VERSION = ".".join(map(str, sys.version_info[:2]))


def pruned(folder: Path, largest: int = 1, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "layers/prune.py"), str(folder), "--runtime", VERSION]
    return subprocess.run(
        [*command, "--largest-mb", str(largest)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def layer(tmp_path: Path) -> Path:
    folder = tmp_path / "Layer/python"
    (folder / "package/tests").mkdir(parents=True)
    (folder / "package/__init__.py").write_text("VALUE = 1\n")
    (folder / "package/tests/test_it.py").write_text("")
    return folder


def test_a_layer_gets_bytecode_that_is_never_checked(layer: Path) -> None:
    done = pruned(layer)
    assert done.returncode == 0, done.stderr
    (compiled,) = layer.rglob("*.pyc")
    assert int.from_bytes(compiled.read_bytes()[4:8], "little") == 1  # by hash, unchecked (PEP 552)
    assert not (layer / "package/tests").exists()


def test_without_the_functions_python_the_build_fails(layer: Path) -> None:
    done = pruned(layer, RUNTIME_PYTHON="/nowhere/python")
    assert done.returncode == 1
    assert "RUNTIME_PYTHON" in done.stderr


def test_a_layer_that_grew_fails_the_build(layer: Path) -> None:
    (layer / "package/large.bin").write_bytes(bytes(1_100_000))
    assert pruned(layer).returncode == 1


@pytest.mark.parametrize(
    ("preprocessing", "multimodal", "status", "said"),
    [(50, 100, 0, ""), (50, 220, 0, "leave VIDEO out"), (263, 0, 1, "more than Lambda takes")],
)
def test_what_lambda_does_not_take_fails_the_build(
    tmp_path: Path, preprocessing: int, multimodal: int, status: int, said: str
) -> None:
    for name, size in (("PreprocessingLayer", preprocessing), ("MultimodalLayer", multimodal), ("fun", 0)):
        path = tmp_path / ("functions" if name == "fun" else "build") / name / "content"
        path.parent.mkdir(parents=True)
        with path.open("wb") as file:
            file.truncate(size * 1_000_000)  # sparse
    command = [sys.executable, str(ROOT / "layers/sizes.py"), str(tmp_path / "build"), str(tmp_path / "functions")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == status
    assert said in done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()] == [
        "MultimodalLayer",
        "PreprocessingLayer",
        "function",
        "together",
    ]
