"""`python -m infra.site.flows`: the pictures of docs/flows, each of the text beside it, by D2 (https://d2lang.com)."""

from __future__ import annotations

import subprocess
import sysconfig
from pathlib import Path

FLOWS = Path(__file__).resolve().parents[2] / "docs/flows"
OPTIONS = ("--layout", "elk", "--pad", "20")


def main() -> None:
    for source in sorted(FLOWS.glob("*.d2")):
        source.with_suffix(".svg").write_bytes(picture(source))


def picture(source: Path) -> bytes:
    """The SVG of a text; the same for the same text."""
    program = Path(sysconfig.get_path("scripts")) / "d2"
    command = [str(program), *OPTIONS, str(source), "-", "--stdout-format", "svg"]
    return subprocess.run(command, check=True, capture_output=True).stdout


if __name__ == "__main__":
    main()
