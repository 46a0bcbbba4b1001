"""Benchmarks are run by hand; what they import must be there all the same."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def test_they_can_be_imported() -> None:
    """In a process of its own: a handler of Mangum's makes an event loop as it is imported, and nobody closes it."""
    names = sorted(
        {path.stem for path in HERE.glob("*.py")}
        - {"__init__", "__main__", "with_transformers"}
        - {Path(__file__).stem}
    )
    code = "\n".join(f"import tests.bench.{name}" for name in [*names, "__main__"])
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)

    assert run.returncode == 0, run.stderr
