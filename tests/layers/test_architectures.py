"""The layer is built for both processors that Lambda has, on any machine."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from infra.rehearsal.machine import interpreter

ROOT = Path(__file__).parents[2]
MACHINES = {"x86_64": 0x3E, "arm64": 0xB7}
"""`e_machine` of ELF files (https://refspecs.linuxfoundation.org/elf/gabi4+/ch4.eheader.html)."""


@pytest.mark.long
@pytest.mark.parametrize("architecture", MACHINES)
def test_every_library_of_the_layer_is_for_that_processor(architecture: str, tmp_path: Path) -> None:
    if interpreter() is None:
        pytest.skip("needs the functions' Python (RUNTIME_PYTHON)")
    command = ["make", "-C", str(ROOT / "layers/preprocessing"), "build-PreprocessingLayer"]
    environment = {**os.environ, "ARTIFACTS_DIR": str(tmp_path), "ARCHITECTURE": architecture}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    libraries = [path for path in tmp_path.rglob("*") if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"]
    assert len(libraries) > 3
    assert {int.from_bytes(path.read_bytes()[18:20], "little") for path in libraries} == {MACHINES[architecture]}
