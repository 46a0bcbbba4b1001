"""Benchmarks are run by hand; what they import must be there all the same."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

MODULES = sorted(path.stem for path in Path(__file__).parent.glob("*.py"))


@pytest.mark.parametrize("name", [name for name in MODULES if name not in ("__init__", "with_transformers")])
def test_it_can_be_imported(name: str) -> None:
    assert import_module(f"tests.bench.{name}")
