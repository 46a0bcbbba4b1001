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
    "request_context",
    "secrets",
    "memory",
    "confined",
    "confined_worker",
    "storage",
    "wire",
    "bundle",
    "parsers",
    "constraints",
    "multimodal",
    "references",
    "served_model",
    "render",
    "derender",
    "roundtrip",
    "library",
    "rollout",
    "pipeline",
    "batch",
    "http",
    "cli",
)
TABLES = {"parsers/tool_calls/formats.py"}  # data, a row a format
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


MANY = {"multimodal/families"}  # a file a family


def test_a_folder_holds_what_can_be_looked_over() -> None:
    folders = {path.parent.relative_to(PACKAGE).as_posix() for path in MODULES}
    sizes = {folder: len(list((PACKAGE / folder).glob("*.py"))) for folder in folders - MANY - {"."}}
    assert {folder: size for folder, size in sizes.items() if size > 16} == {}  # fifteen and __init__


def cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Circles among modules, each once; a module is taken away when all that it imports is gone."""
    left = {name: set(targets) for name, targets in graph.items()}
    while done := {name for name, targets in left.items() if not targets & left.keys()}:
        left = {name: targets for name, targets in left.items() if name not in done}
    while done := {name for name in left if not any(name in targets for targets in left.values())}:
        left = {name: targets for name, targets in left.items() if name not in done}
    return [sorted(left)] if left else []


def test_imports_run_in_no_circle() -> None:
    """Imports inside functions count, too."""
    names = {path: ".".join(("renderlayer", *path.relative_to(PACKAGE).with_suffix("").parts)) for path in MODULES}
    names = {path: name.removesuffix(".__init__") for path, name in names.items()}
    names = {path: name for path, name in names.items() if name != "renderlayer"}  # the public face, above all rooms
    known = set(names.values())
    graph = {
        name: {target for target in imported_modules(path, known) if target != name} for path, name in names.items()
    }
    assert cycles(graph) == []


def imported_modules(path: Path, known: set[str]) -> Iterator[str]:
    """The modules that are named in imports: of `from package import module` the module, not its package."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield whole if whole in known else node.module


def test_a_circle_is_seen() -> None:
    assert cycles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == [["b", "c"]]
