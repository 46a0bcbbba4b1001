"""The table of docs/continue.md: `python -m tests.render.continuing.table SHARED/templates` writes it anew."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from renderlayer.render.continuing.refusal import DROPPED, REWRITTEN
from renderlayer.render.continuing.verdict import EXTENDED, describe_continues
from tests.render.continuing.museum import make_museum, with_template

PAGE = Path(__file__).resolve().parents[3] / "docs" / "continue.md"
HEAD = (
    "| template | when | after a call | … with reasoning | after an answer | … with reasoning |\n"
    "|---|---|---|---|---|---|\n"
)
SHORT = {EXTENDED: "yes", DROPPED: "reasoning dropped", REWRITTEN: "rewritten", None: "–"}


def verdicts(templates: Path, museum: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Templates by name, each with what packing finds out about it."""
    for file in sorted(templates.glob("*.jinja")):
        yield file.stem, describe_continues(with_template(museum, file))


def row(name: str, found: dict[str, Any]) -> str:
    """A template's row."""
    cases = [SHORT.get(case, case) for case in found["cases"].values()]
    switched = [
        f"{when} with `{kwarg}: {value}`" for kwarg, values in found["kwargs"].items() for value, when in values.items()
    ]
    return f"| {name} | {'; '.join([found['when'], *switched])} | {' | '.join(map(str, cases))} |\n"


def table(found: Iterator[tuple[str, dict[str, Any]]]) -> str:
    return HEAD + "".join(row(name, verdict) for name, verdict in found)


def main() -> None:
    templates = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        made = table(verdicts(templates, make_museum(templates, Path(folder))))
    before, _, rest = PAGE.read_text(encoding="utf-8").partition("| template |")
    after = rest[rest.index("\n\n") :] if "\n\n" in rest else "\n"
    PAGE.write_text(before + made.rstrip("\n") + after, encoding="utf-8")


if __name__ == "__main__":
    main()
