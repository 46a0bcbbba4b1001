"""What a rehearsal needs of this machine: the functions' Python, namespaces for mounts, and a few packages."""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from infra.rehearsal.emulator.required import PINNED
from renderlayer.errors import ConfigurationError

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache/rehearsal"
EMULATOR = PINNED.replace("ministack", "ministack[full]")
LOCKED = ("boto3", "botocore")
"""What Lambda's runtime for Python brings along, in the versions of requirements.lock."""
CLIENT = ("awslambdaric", "snapshot-restore-py")
"""The runtime client, of which the emulator has one of its own."""


@dataclass(frozen=True)
class Machine:
    """Programs by path.

    Attributes:
        emulator: a Python with the emulator, of the functions' version, since it runs them as its children.
        functions: a Python with what Lambda's runtime has and nothing else, so that what a layer lacks is missed.
        sam: the AWS SAM CLI.
    """

    emulator: Path
    functions: Path
    sam: str


def runtime_version() -> str:
    """Version of the functions' Python, such as 3.13, as the template has it."""
    found = re.search(r"Runtime: python(3\.\d+)", (ROOT / "template.yaml").read_text())
    assert found is not None
    return found[1]


def missing() -> str | None:
    """Why functions cannot be run here, and what to do; None when they can."""
    if interpreter() is None:
        version = runtime_version()
        return f"there is no Python {version}, which the functions run on: name one with RUNTIME_PYTHON=/path/to/python"
    if shutil.which("unshare") is None or not _may_mount():
        return "mount namespaces are not allowed here (Linux, as root or with user namespaces and overlay)"
    return None


def prepared() -> Machine:
    """Install what is missing.

    Raises:
        ConfigurationError: this machine cannot rehearse; the message says what is missing.
    """
    problem = missing()
    python = interpreter()
    if problem is not None or python is None:
        raise ConfigurationError(problem)
    sam = os.environ.get("SAM") or shutil.which("sam") or str(ROOT / ".cache/sam/bin/sam")
    if shutil.which(sam) is None:
        raise ConfigurationError("there is no AWS SAM CLI: make rehearse installs it")
    return Machine(
        emulator=_environment(python, "emulator", [EMULATOR]),
        functions=_environment(python, "functions", _locked(*LOCKED)),
        sam=sam,
    )


def runtime() -> Path:
    """A Python of the functions' version with what Lambda's runtime has, its client included.

    Raises:
        ConfigurationError: there is no such version here.
    """
    python = interpreter()
    if python is None:
        raise ConfigurationError(missing())
    return _environment(python, "runtime", _locked(*LOCKED, *CLIENT))


def _locked(*names: str) -> list[str]:
    lock = (ROOT / "requirements.lock").read_text()
    return [line for line in lock.splitlines() if line.partition("==")[0] in names]


def interpreter() -> str | None:
    """A Python of the functions' version: RUNTIME_PYTHON, or one that is found by name."""
    found: str | None = runpy.run_path(str(ROOT / "layers/prune.py"))["interpreter"](runtime_version())
    return found


def _may_mount() -> bool:
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    script = "mount --bind /tmp /tmp && mount -o remount,bind,ro /"
    command = ["unshare", *user, "--mount", "--propagation", "private", "sh", "-ec", script]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def _environment(python: str, name: str, packages: list[str]) -> Path:
    """The Python of a virtual environment of ours; made anew when its packages are others."""
    folder = CACHE / name
    note, wanted = folder / "packages", "\n".join(packages)
    if not note.exists() or note.read_text() != wanted:
        print(f"installing {', '.join(packages)} into {folder.relative_to(ROOT)}", flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([python, "-m", "venv", str(folder)], check=True)
        pip = [str(folder / "bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages]
        subprocess.run(pip, check=True)
        note.write_text(wanted)
    return folder / "bin/python"
