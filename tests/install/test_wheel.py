"""What is installed: the wheel in an environment that has nothing else, and the image of the generate service."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import venv
import zipfile
from pathlib import Path
from typing import Any

import httpx
import pytest

import renderlayer
from tests.local.test_serve import CHAT, running
from tests.runtime import ROOT

PACKAGE = ROOT / "layers/preprocessing/renderlayer"
DOCKERFILE = (ROOT / "infra/generate/Dockerfile").read_text(encoding="utf-8")
LOCK = ROOT / "requirements.lock"


def environment() -> dict[str, str]:
    """This process's variables, without those that lead to the repository."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def run(*command: str | Path, cwd: Path | None = None, status: int = 0) -> str:
    """What a command prints."""
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def empty_environment(folder: Path) -> Path:
    """The programs of a virtual environment that holds pip and nothing else."""
    venv.create(folder, with_pip=True, symlinks=True)
    return folder / "bin"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, ROOT)
    (made,) = folder.iterdir()
    return made


@pytest.mark.long
def test_it_holds_the_package_and_nothing_else(wheel: Path) -> None:
    assert wheel.name == f"renderlayer-{renderlayer.__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as opened:
        held = {name for name in opened.namelist() if ".dist-info/" not in name}
        assert any(name.endswith("licenses/LICENSE") for name in opened.namelist())
    tracked = run("git", "ls-files", "--cached", "--others", "--exclude-standard", PACKAGE, cwd=ROOT).split()
    description = "renderlayer/http/openapi/openapi.json"
    assert held == {description} | {str(Path(name).relative_to("layers/preprocessing")) for name in tracked}


@pytest.mark.long
def test_it_serves_in_an_empty_environment(wheel: Path, server: Any, tmp_path: Path) -> None:
    programs = empty_environment(tmp_path / "env")
    run(programs / "pip", "install", "--quiet", "--constraint", LOCK, wheel)
    refused = run(programs / "renderlayer", "serve", server.settings.model, cwd=tmp_path, status=2)
    assert refused == "renderlayer: Serving needs uvicorn: pip install 'renderlayer[serve]'\n"
    run(programs / "pip", "install", "--quiet", "--constraint", LOCK, f"{wheel}[serve]")
    assert run(programs / "renderlayer", "--version", cwd=tmp_path).startswith(f"renderlayer {renderlayer.__version__}")
    command = [str(programs / "renderlayer"), "serve", server.settings.model]
    with running(command, PYTHONPATH="") as started:
        answer = httpx.post(f"{started.url}/v1/chat/completions/render", json=CHAT, timeout=60)
        assert answer.json()["token_ids"]
        assert started.stop(signal.SIGTERM) == 0


@pytest.mark.long
def test_the_image_of_the_generate_service_has_what_the_middleware_needs(tmp_path: Path) -> None:
    """The image's own pip commands, with folders of this machine in the place of the image's."""
    source = tmp_path / "source"
    for line in re.findall(r"^COPY ((?:\S+ )+)/source/", DOCKERFILE, re.MULTILINE):
        for name in line.split():
            target = source / name
            target.parent.mkdir(parents=True, exist_ok=True)
            (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, target)
    programs = empty_environment(tmp_path / "env")
    places = {"/source": source, "/wheel": tmp_path / "wheel"}
    commands = re.findall(r"(?:python3 -m pip|pip) (?:wheel|install) [^\\\n]+", DOCKERFILE)
    assert len(commands) == 4
    for command in commands:
        here = re.sub("/source|/wheel", lambda found: str(places[found[0]]), command)
        run("sh", "-c", f"{programs}/{here.removeprefix('python3 -m ')}")
    assert not re.search(r"-m pip install (?!.*--no-index)", DOCKERFILE)
    run(programs / "python", "-c", "import boto3, renderlayer.references; boto3.client('s3', 'eu-central-1')")
    (locked,) = re.findall(r"^boto3==(\S+)$", LOCK.read_text(encoding="utf-8"), re.MULTILINE)
    assert run(programs / "python", "-c", "import boto3; print(boto3.__version__)").strip() == locked
