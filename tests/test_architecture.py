"""Imports follow the data, one way; a cold start imports nothing that it does not need."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import renderlayer

PACKAGE = Path(renderlayer.__file__).parent
ROOMS = (
    "errors",
    "settings",
    "flags",
    "deadline",
    "secrets",
    "memory",
    "confined",
    "confined_worker",
    "wire",
    "bundle",
    "parsers",
    "multimodal",
    "references",
    "render",
    "derender",
    "roundtrip",
    "pipeline",
    "batch",
    "http",
    "cli",
)
TABLES = {"parsers/tool_formats.py"}  # data, a row a format
MODULES = sorted(PACKAGE.rglob("*.py"))


def room_of(module: str) -> str | None:
    parts = module.split(".")
    return parts[1] if parts[0] == "renderlayer" and len(parts) > 1 else None


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            name = node.module or ""
            yield from (f"renderlayer.{alias.name}" for alias in node.names) if name == "renderlayer" else (name,)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_imports_only_from_rooms_before_its_own(path: Path) -> None:
    own = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if own in ("__init__", "__main__"):
        return
    rank = ROOMS.index(own)
    for module in imported(path):
        room = room_of(module)
        if room is not None and room != "__version__":
            assert ROOMS.index(room) <= rank, f"{own} imports {module}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_file_is_read_in_one_sitting(path: Path) -> None:
    longest = 500 if path.relative_to(PACKAGE).as_posix() in TABLES else 350
    assert len(path.read_text(encoding="utf-8").splitlines()) <= longest
