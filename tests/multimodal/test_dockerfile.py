"""The container image of a multimodal deployment, as far as can be told without Docker."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "layers/preprocessing/Dockerfile").read_text(encoding="utf-8")


def test_what_is_copied_exists() -> None:
    sources = [path for line in re.findall(r"^COPY (.+) \S+$", TEXT, re.M) for path in line.split()]
    assert [path for path in sources if not path.startswith("${") and not (ROOT / path).exists()] == []
    assert "functions/render/app.py" in sources


def test_what_is_installed_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (extras,) = re.findall(r'"/tmp/renderlayer\[(.+)\]"', TEXT)
    assert set(extras.split(",")) <= set(project["optional-dependencies"])
    assert {"blake3", "numpy", "pillow", "pybase64"} <= set(project["optional-dependencies"]["multimodal"])


def test_it_runs_the_function_that_is_deployed() -> None:
    (command,) = re.findall(r'^CMD \["(.+)"\]$', TEXT, re.M)
    module, name = command.split(".")
    assert f"def {name}(" in (ROOT / f"functions/render/{module}.py").read_text(encoding="utf-8")
