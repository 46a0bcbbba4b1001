"""Make a layer small and quick to start: drop what no function imports, compile the rest, and check the size.

Lambda mounts layers read-only, so bytecode that is not in the layer is compiled anew at every cold start, which takes
twice as long. It is written by an interpreter of the layer's own Python version: RUNTIME_PYTHON, or one that is found.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

DROPPED = ("bin", "**/__pycache__", "**/tests", "**/test", "**/*.pyi", "**/py.typed", "*.dist-info/RECORD")
"""Glob patterns beneath the layer's python folder."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--runtime", required=True, help="Python version of the functions, such as 3.13")
    parser.add_argument("--largest-mb", type=int, required=True, help="fail above this size")
    arguments = parser.parse_args()
    compiler = interpreter(arguments.runtime)
    if compiler is None:
        print(
            f"error: no Python {arguments.runtime} here to compile the layer with; "
            "name one with RUNTIME_PYTHON=/path/to/python",
            file=sys.stderr,
        )
        return 1
    for pattern in DROPPED:
        for path in list(arguments.folder.glob(pattern)):
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    compile_all(arguments.folder, compiler)
    size = sum(path.stat().st_size for path in arguments.folder.rglob("*") if path.is_file()) / 1e6
    print(f"{arguments.folder.parent.name}: {size:.1f} MB unzipped (at most {arguments.largest_mb})")
    return 0 if size <= arguments.largest_mb else 1


def interpreter(version: str) -> str | None:
    """An interpreter of that version: the one that RUNTIME_PYTHON names, or this one, or one found by its name."""
    named = os.environ.get("RUNTIME_PYTHON")
    installed = sorted(map(str, Path.home().glob(f".pyenv/versions/{version}.*/bin/python")))
    for candidate in [named] if named else [sys.executable, f"python{version}", "python3", *installed]:
        question = "import sys; print('%d.%d' % sys.version_info[:2])"
        try:
            answer = subprocess.run([candidate, "-c", question], capture_output=True, text=True, check=False)
        except OSError:
            continue
        if answer.stdout.strip() == version:
            return candidate
    return None


def compile_all(folder: Path, compiler: str) -> None:
    """Write bytecode that is never checked against its source: the layer's files do not change."""
    options = ["-q", "-j", "0", "--invalidation-mode", "unchecked-hash", "-s", str(folder), "-p", "/opt/python"]
    subprocess.run([compiler, "-m", "compileall", *options, str(folder)], check=True)


if __name__ == "__main__":
    sys.exit(main())
